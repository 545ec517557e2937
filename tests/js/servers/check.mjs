// Proves that the fixtures are what `peers.json` says, with the client of the same SDK for each. With `--through COMMAND...`,
// those on a pipe are started by that command, and have to be the same behind it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import * as sdk1 from "../interop/sdk1.mjs";
import * as sdk2 from "../interop/sdk2.mjs";
import { openTransport } from "../interop/peer.mjs";
import { startListening } from "../lib/demo.mjs";
import { guard } from "../lib/process.mjs";
import { table } from "../lib/table.mjs";
import { within } from "../lib/time.mjs";
import { STEPS } from "./steps.mjs";

/** For one step, and for the whole run, in milliseconds. */
const STEP = 15_000;
const TOTAL = 2 * 60_000;

/** Where the commands of `peers.json` are to be run. */
const HOME = fileURLToPath(new URL("..", import.meta.url));

const { surfaces, peers } = JSON.parse(readFileSync(new URL("peers.json", import.meta.url), "utf8"));
const given = process.argv.slice(2);
const at = given.indexOf("--through");
const through = at < 0 ? [] : given.splice(at).slice(1);
const [only] = given;
const chosen = peers.filter(({ name, binding }) => (only === undefined || name === only) && (at < 0 || binding === "stdio"));
if (chosen.length === 0) {
  console.error(`usage: check.mjs [PEER] [--through COMMAND...]\n  peers: ${peers.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}
guard(TOTAL);
process.chdir(HOME);
process.exit(await main());

async function main() {
  const names = ["connect", "revisions", ...Object.keys(STEPS)];
  const lines = [];
  const problems = [];
  for (const peer of chosen) {
    const outcome = await tryPeer(peer);
    lines.push([peer.name, ...names.map((name) => outcome.get(name) ?? "-")]);
    for (const [name, result] of outcome) {
      if (result instanceof Error) problems.push(`${peer.name}, ${name}: ${result.message}`);
    }
  }
  const plain = lines.map((line) => line.map((cell) => (cell instanceof Error ? "FAILED" : cell)));
  console.log(table(["peer", ...names], plain));
  if (problems.length > 0) console.log(`\n${problems.join("\n")}`);
  return problems.length === 0 ? 0 : 1;
}

/** Takes every step that `peer` can; returns for each what came of it: ok, or the error. */
async function tryPeer(peer) {
  const outcome = new Map();
  const attempt = async (name, action) => {
    try {
      const result = await within(STEP, name, action());
      outcome.set(name, "ok");
      return result;
    } catch (error) {
      outcome.set(name, error);
    }
  };

  const command = [...through, ...peer.start].map((word) => (word === "node" ? process.execPath : word));
  const options = { stdio: ["pipe", "pipe", "pipe"] };
  const server = peer.binding === "stdio" ? undefined : await startListening(command, options);
  const target = () => (server ? { url: server.url, sse: peer.binding === "sse" } : { command, complaints: "" });

  const { connect } = peer.name.startsWith("v2") ? sdk2 : sdk1;
  const mode = peer.era === "modern" ? { pin: peer.revisions.at(-1) } : "legacy";
  const client = await attempt("connect", async () => {
    const connected = await connect({ target: target(), mode });
    assert.deepEqual(connected.negotiated(), { era: peer.era, revision: peer.revisions.at(-1) });
    return connected;
  });
  if (client) {
    const surface = surfaces[peer.surface];
    await attempt("lists", () => STEPS.lists(client, surface.lists));
    for (const [name, able] of Object.entries(peer.can)) {
      if (able) await attempt(name, () => STEPS[name](client, surface[name]));
    }
    await attempt("connect", () => client.close());
  }
  if (peer.era === "legacy") await attempt("revisions", () => shakeHands(peer, target));
  await server?.stop();
  return outcome;
}

/** Opens a connection in each revision of a legacy peer, without a client that would have its own opinion. */
async function shakeHands({ revisions }, target) {
  for (const protocolVersion of revisions) {
    const transport = openTransport(target(), sdk1.TRANSPORTS);
    const answer = new Promise((resolve, reject) => {
      transport.onmessage = resolve;
      transport.onerror = reject;
    });
    await transport.start();
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: "check", version: "1.0.0" } };
    await transport.send({ jsonrpc: "2.0", id: 1, method: "initialize", params });
    assert.equal((await answer).result?.protocolVersion, protocolVersion);
    transport.onerror = undefined;
    await transport.close();
  }
}
