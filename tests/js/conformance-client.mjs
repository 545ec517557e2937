// Runs the official conformance suites against the everything-client: every scenario alone, on every wire that it has,
// and all of them at once. Stricter than the suite: the client's exit code counts, and so do warnings and skips.

import { mkdir, readFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { Allowances } from "./conformance/allowances.mjs";
import { SCENARIOS, TOGETHER, clientCommand } from "./conformance/client-runs.mjs";
import { judge } from "./conformance/judge.mjs";
import { guard, run as runProcess } from "./lib/process.mjs";
import { table } from "./lib/table.mjs";

const USAGE = `usage: conformance-client.mjs BINARY [SCENARIO]`;
const TOTAL = 10 * 60_000;
const ALONE = 45_000;
const ALL = 180_000;

const [binary, only] = process.argv.slice(2);
if (!binary) {
  console.error(USAGE);
  process.exit(2);
}
guard(TOTAL);
process.exit(await main());

async function main() {
  const here = (path) => fileURLToPath(new URL(path, import.meta.url));
  const allowances = new Allowances(JSON.parse(await readFile(here("skips-client.json"), "utf8")));
  const results = here("results/client");
  await rm(results, { recursive: true, force: true });
  const rows = [];
  const problems = [];

  for (const { name, release, wires } of SCENARIOS) {
    if (only && name !== only) continue;
    for (const wire of wires) {
      const id = [release, wire].filter(Boolean).join(" ");
      const output = join(results, `${release}-${wire}-${name}`.replaceAll("/", "_"));
      const options = ["--scenario", name, ...(wire ? ["--spec-version", wire] : [])];
      record(await perform({ id, scenarios: 1 }, release, options, output, ALONE), name);
    }
  }
  for (const { release, scenarios } of only ? [] : TOGETHER) {
    const id = `${release} together`;
    const output = join(results, id.replaceAll(" ", "-"));
    record(await perform({ id, scenarios, together: true }, release, ["--suite", "all"], output, ALL), "(all at once)");
  }
  if (!only) {
    const runs = [...new Set(rows.map(([, id]) => id))];
    for (const entry of allowances.stale(runs)) {
      problems.push(`STALE skips-client.json: nothing in run ${entry.run} matches ${entry.scenario}, ${entry.check}`);
    }
  }
  console.log(table(["scenario", "run", "checks", "failures", "warnings", "skips", "exit", "verdict"], rows));
  if (problems.length > 0) console.log(`\n${problems.join("\n")}`);
  return problems.length === 0 && rows.length > 0 ? 0 : 1;

  function record({ run, outcome }, name) {
    const { findings, counts } = judge(run, outcome, allowances);
    const checks = Object.values(counts).reduce((sum, count) => sum + count, 0);
    const [failures, warnings, skips] = ["FAILURE", "WARNING", "SKIPPED"].map((status) => counts[status] ?? 0);
    const verdict = findings.length === 0 ? "ok" : "FAILED";
    rows.push([name, run.id, checks, failures, warnings, skips, outcome.code, verdict]);
    for (const { scenario, check, status, message } of findings) {
      problems.push(`${status} ${run.id} / ${scenario} / ${check}: ${message.replaceAll(/\s+/g, " ").slice(0, 400)}`);
    }
  }
}

/** One call of the suite; a scenario is known by the directory that it left. */
async function perform(run, release, options, output, limit) {
  await mkdir(output, { recursive: true });
  const command = clientCommand(release, binary, options, output);
  const { code, output: printed, complaints } = await runProcess(command, limit);
  const said = `${printed}\n${complaints}`.trim();
  const scenarios = new Map();
  for (const [directory, checks] of await found(output)) {
    const scenario = directory.replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "");
    scenarios.set(scenario, checks);
  }
  const outcome = { scenarios, code, last: said.split("\n").at(-1) };
  return { run, outcome };
}

async function found(root, prefix = "") {
  const out = [];
  for (const entry of await readdir(join(root, prefix), { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const path = prefix ? `${prefix}/${entry.name}` : entry.name;
    try {
      out.push([path, JSON.parse(await readFile(join(root, path, "checks.json"), "utf8"))]);
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
      out.push(...(await found(root, path)));
    }
  }
  return out;
}
