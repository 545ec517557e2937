// Runs the official conformance suites against the demo server and judges every check.

import { readFile } from "node:fs/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";

import { Allowances } from "./conformance/allowances.mjs";
import { judge } from "./conformance/judge.mjs";
import { REVISIONS, RUNS, single } from "./conformance/runs.mjs";
import { runSuite } from "./conformance/suite.mjs";
import { fail, readArguments } from "./lib/arguments.mjs";
import { startHttp } from "./lib/demo.mjs";
import { guard } from "./lib/process.mjs";
import { table } from "./lib/table.mjs";

const USAGE = `usage: conformance.mjs BINARY [options]
       conformance.mjs [options] --server COMMAND...   another server; "--port 0" is appended
       conformance.mjs [options] --url URL             a server that runs already
  --run ID       one run of the table (${RUNS.map(({ id }) => id).join(", ")})
  --only NAME    one scenario, for development
  --spec V       with --only: ${REVISIONS.join(", ")}, or 0.1.16 for that release of the suite`;

const TOTAL = 15 * 60_000;

const options = readArguments(USAGE, {
  url: { type: "string" },
  run: { type: "string" },
  only: { type: "string" },
  spec: { type: "string" },
});
const runs = chosenRuns(options);
guard(TOTAL);
process.exit(await main());

async function main() {
  const here = (path) => fileURLToPath(new URL(path, import.meta.url));
  const allowances = new Allowances(JSON.parse(await readFile(here("skips.json"), "utf8")));
  let server;
  try {
    server = options.url
      ? { url: options.url, stop: async () => {}, trouble: () => undefined }
      : await startHttp(options.command);
  } catch (error) {
    console.error(error.message);
    return 1;
  }

  const rows = [];
  const problems = [];
  try {
    for (const run of runs) {
      const { row, lines } = await perform(run, server, allowances, here("results"));
      rows.push(row);
      problems.push(...lines);
      if (server.trouble()) break;
    }
  } finally {
    await server.stop();
  }
  if (server.trouble()) problems.push(server.trouble());
  // A single scenario says nothing about the list.
  if (!options.only) problems.push(...allowances.stale(runs.map(({ id }) => id)).map(describeStale));

  console.log(table(["run", "scenarios", "checks", "failures", "warnings", "skips", "allowed", "seconds", "verdict"], rows));
  if (problems.length > 0) console.log(`\n${problems.join("\n")}`);
  return problems.length === 0 ? 0 : 1;
}

/** Performs one run; whatever goes wrong in it becomes a line, so that the other runs still take place. */
async function perform(run, server, allowances, results) {
  const begun = Date.now();
  const seconds = () => Math.round((Date.now() - begun) / 100) / 10;
  try {
    const { scenarios, log, ...outcome } = await runSuite(run, server.url, results);
    const { findings, allowed, counts } = judge(run, { scenarios, ...outcome }, allowances);
    const checks = Object.values(counts).reduce((sum, count) => sum + count, 0);
    const [failures, warnings, skips] = ["FAILURE", "WARNING", "SKIPPED"].map((status) => counts[status] ?? 0);
    const lines = findings.map((finding) => describe(run, finding));
    if (lines.length > 0) lines.push(`  (all of it: ${relative(process.cwd(), log)})`);
    const verdict = lines.length === 0 ? "ok" : "FAILED";
    return {
      row: [run.id, scenarios.size, checks, failures, warnings, skips, allowed.length, seconds(), verdict],
      lines,
    };
  } catch (error) {
    return { row: [run.id, 0, 0, 0, 0, 0, 0, seconds(), "FAILED"], lines: [`${run.id}: ${error.message}`] };
  }
}

function chosenRuns({ only, spec, run }) {
  if (spec && !only) fail("--spec goes with --only");
  if (only && run) fail("either --only or --run");
  if (only) return [single(only, spec)];
  const chosen = run ? RUNS.filter(({ id }) => id === run) : RUNS;
  if (chosen.length === 0) fail(`no run is called ${run}\n${USAGE}`);
  return chosen;
}

function describe(run, { scenario, check, status, message }) {
  const where = [run.id, scenario, check].filter((part) => part !== "-").join(" / ");
  return `${status} ${where}: ${message.replaceAll(/\s+/g, " ").slice(0, 400)}`;
}

function describeStale({ run, scenario, check }) {
  return `STALE skips.json: nothing in run ${run} matches scenario ${scenario}, check ${check}; remove the entry or the run`;
}
