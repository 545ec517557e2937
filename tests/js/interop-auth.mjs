// Tries logins: clients of others with our protected server, our client with protected servers of others, and both with
// an authorization server of others.

import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";

import { USER } from "./interop-auth/browser.mjs";
import { startProgram } from "./interop-auth/program.mjs";
import { pythonPackages, ROWS, SECONDS } from "./interop-auth/rows.mjs";
import { STEPS } from "./interop-auth/steps.mjs";
import { fail } from "./lib/arguments.mjs";
import { guard } from "./lib/process.mjs";
import { table } from "./lib/table.mjs";
import { within } from "./lib/time.mjs";

const USAGE = `usage: interop-auth.mjs INTEROP-AUTH [--only ROW]
  rows: ${ROWS.map(({ name }) => name).join(", ")}`;

const STEP = 25_000;
const TOTAL = 3 * 60_000;
const INSTALLATION = 3 * 60_000;
/** How many rows are tried at the same time. Most of a row is waiting. */
const AT_ONCE = 4;

const { program, rows } = readCommandLine();
if (rows.some(({ python }) => python)) installPython();
guard(TOTAL);
process.exit(await main());

function readCommandLine() {
  try {
    const { values, positionals } = parseArgs({ options: { only: { type: "string" } }, allowPositionals: true });
    const rows = values.only ? ROWS.filter(({ name }) => name === values.only) : ROWS;
    if (positionals.length !== 1 || rows.length === 0) throw new Error("which program, and which row?");
    return { program: positionals[0], rows };
  } catch (error) {
    return fail(`${error.message}\n${USAGE}`);
  }
}

/** Installs the packages for Python, which is quick when they are there. */
function installPython() {
  const install = fileURLToPath(new URL("../interop/python/install.sh", import.meta.url));
  const options = { stdio: ["ignore", "ignore", "inherit"], timeout: INSTALLATION };
  execFileSync("sh", [install, pythonPackages(program)], options);
}

async function main() {
  const results = new Map();
  const waiting = [];
  for (const row of rows) {
    if (row.platform === undefined || row.platform === process.platform) waiting.push(row);
    else results.set(row, skipped(row));
  }
  const worker = async () => {
    for (let row = waiting.shift(); row; row = waiting.shift()) results.set(row, await tryRow(row));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));

  const lines = rows.map((row) => [row.name, row.client, row.server, row.issuer, ...results.get(row).cells]);
  console.log(table(["row", "client", "server", "authorization server", ...Object.keys(STEPS)], lines));
  explain();
  const failures = rows.flatMap((row) => results.get(row).failures);
  if (failures.length > 0) console.log(`\n${failures.join("\n")}`);
  return failures.length === 0 ? 0 : 1;
}

/** The result of a row that cannot be tried on this system. Where everything has to be tried, that is a failure. */
function skipped({ name, platform }) {
  const reason = `${name}: SKIPPED, it can be tried on ${platform} only`;
  console.error(reason);
  return { cells: ["SKIPPED"], failures: process.env.CI ? [reason] : [] };
}

/** Prints the reasons why clients cannot take steps. */
function explain() {
  for (const { name, cannot } of rows) {
    for (const [step, reason] of Object.entries(cannot)) console.log(`-  ${name}, ${step}: ${reason}`);
  }
}

/** Takes all steps of one row with programs of its own. The steps build on one another: the first that fails ends it. */
async function tryRow(row) {
  const started = [];
  const script = (name) => [process.execPath, fileURLToPath(new URL(`servers/${name}`, import.meta.url))];
  const run = async (command) => {
    const one = startProgram(command);
    started.push(one);
    return { ...one, ...(await one.next("READY")) };
  };
  const names = Object.keys(STEPS);
  const cells = [];
  const failures = [];
  let client;
  let at = "starting";
  try {
    const { server, issuer, subject = USER } = await row.start({ run, program, script });
    client = row.connect({ program, url: server.url, seconds: SECONDS, cannot: row.cannot });
    for (const name of names) {
      at = name;
      if (row.cannot[name]) {
        cells.push("-");
        continue;
      }
      await within(STEP, name, STEPS[name]({ client, cannot: row.cannot, subject, url: server.url, issuer }));
      cells.push("ok");
    }
    at = "ending";
    for (const one of started) await one.end();
  } catch (error) {
    failures.push(`${row.name}, ${at}: ${error.message}`);
    const complaints = [client, ...started].map((one) => one?.complaints?.()).filter(Boolean);
    failures.push(...complaints.map((text) => `  said: ${text}`));
    while (cells.length < names.length) cells.push(cells.includes("FAILED") ? "" : "FAILED");
    // A client that is of no use any more may be unable to close.
    await within(STEP, "closing", Promise.resolve(client?.close())).catch(() => {});
  }
  await client?.stop?.();
  for (const one of started) await one.stop();
  return { cells, failures };
}
