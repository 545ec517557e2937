// The Inspector's command line: a client that connects, asks one thing, prints the answer and ends.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { run } from "../lib/process.mjs";

const LAUNCHER = fileURLToPath(
  new URL("../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", import.meta.url),
);
const LIMIT = 20_000;

/** It keeps files in the home directory. It gets one of its own, so that the real one stays as it is. */
const home = mkdtempSync(join(tmpdir(), "inspector-"));
process.on("exit", () => rmSync(home, { recursive: true, force: true }));

/** Prepares calls to `target` in the era `mode`, see `peer.mjs` for what comes back. */
export async function connect({ target, mode }) {
  const transport = target.sse ? "sse" : "http";
  const where = target.url ? ["--server-url", target.url, "--transport", transport] : target.command;

  const ask = async (method, ...options) => {
    const command = [process.execPath, LAUNCHER, "--cli", ...where, "--method", method, "--protocol-era", mode, ...options];
    const { code, output, complaints } = await run(command, LIMIT, { env: { ...process.env, HOME: home } });
    if (code !== 0) throw new Error(`the Inspector ended with exit code ${code}: ${complaints || output}`);
    return JSON.parse(output);
  };
  const list = async (method, field) => (await ask(method))[field];
  const greeting = await ask("initialize");

  return {
    // It names the revision only; the era is the one that it was told, which the revision has to fit.
    negotiated: () => ({ era: mode, revision: greeting.protocolVersion }),
    server: () => ({ info: greeting.serverInfo, capabilities: greeting.capabilities }),
    tools: () => list("tools/list", "tools"),
    resources: () => list("resources/list", "resources"),
    templates: () => list("resources/templates/list", "resourceTemplates"),
    prompts: () => list("prompts/list", "prompts"),
    call: (name, args) => ask("tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(args)),
    read: (uri) => ask("resources/read", "--uri", uri),
    close: async () => {},
  };
}
