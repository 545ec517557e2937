// Tries the demo server with real clients, over every transport and in both eras.

import { ROWS } from "./interop/rows.mjs";
import { STEPS } from "./interop/steps.mjs";
import { fail, readArguments } from "./lib/arguments.mjs";
import { pipeCommand, startHttp, startSse } from "./lib/demo.mjs";
import { guard } from "./lib/process.mjs";
import { table } from "./lib/table.mjs";
import { within } from "./lib/time.mjs";

const USAGE = `usage: interop.mjs BINARY [--only ROW]
       interop.mjs [--only ROW] --server COMMAND...   another server; "--port 0" or "--stdio" is appended
  rows: ${ROWS.map(({ name }) => name).join(", ")}`;

/** Starts a server that listens, by the row's transport. */
const START = { http: startHttp, sse: startSse };

const STEP = 25_000;
const TOTAL = 10 * 60_000;

const options = readArguments(USAGE, { only: { type: "string" } });
const rows = options.only ? ROWS.filter(({ name }) => name === options.only) : ROWS;
if (rows.length === 0) fail(`no row is called ${options.only}\n${USAGE}`);
guard(TOTAL);
process.exit(await main());

async function main() {
  const lines = [];
  const problems = [];
  for (const row of rows) {
    const { cells, failures } = await tryRow(row);
    lines.push([row.name, row.era, ...cells]);
    problems.push(...failures);
  }
  console.log(table(["client and transport", "era", ...Object.keys(STEPS)], lines));
  explain("-  what a client cannot do by its design:", "cannot");
  explain("*  what the era has in another form:", "otherwise");
  if (problems.length > 0) console.log(`\n${problems.join("\n")}`);
  return problems.length === 0 ? 0 : 1;
}

/** Prints the reasons that the rows give for their special cells, each reason once. */
function explain(title, field) {
  const reasons = new Map();
  for (const row of rows) {
    for (const [step, reason] of Object.entries(row[field])) {
      const text = `${step}: ${reason}`;
      reasons.set(text, (reasons.get(text) ?? new Set()).add(row.client));
    }
  }
  if (reasons.size > 0) console.log(`\n${title}`);
  for (const [text, clients] of reasons) console.log(`   ${text} (${[...clients].join(", ")})`);
}

/** Takes all steps of one row against a server of its own, so that no row sees what another left behind. */
async function tryRow(row) {
  const names = Object.keys(STEPS);
  let server;
  let target;
  let peer;
  try {
    server = await START[row.transport]?.(options.command);
    const sse = row.transport === "sse";
    target = server ? { url: server.url, sse } : { command: pipeCommand(options.command), complaints: "" };
    peer = await within(STEP, "connecting", row.connect({ target, mode: row.mode }));
  } catch (error) {
    await server?.stop();
    return {
      cells: names.map((name) => (row.cannot[name] ? "-" : "FAILED")),
      failures: [`${row.name} does not connect: ${message(error)}`, ...said(server, target)],
    };
  }

  const cells = [];
  const failures = [];
  for (const name of names) {
    if (row.cannot[name]) {
      cells.push("-");
      continue;
    }
    try {
      await within(STEP, name, STEPS[name](peer, row));
      cells.push(row.otherwise[name] ? "ok*" : "ok");
    } catch (error) {
      cells.push("FAILED");
      failures.push(`${row.name}, ${name}: ${message(error)}`);
    }
  }
  await server?.stop();
  if (server?.trouble()) failures.push(`${row.name}: ${server.trouble()}`);
  if (failures.length > 0) failures.push(...said(server, target));
  return { cells, failures };
}

/** What a row's server had to say on its standard error, if anything. */
function said(server, target) {
  const complaints = server?.complaints() ?? target?.complaints ?? "";
  return complaints ? [`the server said: ${complaints.trim()}`] : [];
}

function message(error) {
  return error instanceof Error ? error.message : String(error);
}
