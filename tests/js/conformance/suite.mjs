// Runs one suite and reads back what it wrote.

import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { run as runProcess } from "../lib/process.mjs";
import { commandOf } from "./runs.mjs";

/** A whole suite takes seconds; the longest lone scenario a few. */
const LIMIT = 180_000;

const RESULT = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/;
const STARTED = /^=== Running scenario: (.+) ===$/gm;
const THREW = /^Failed to run scenario (.+?): (.*)$/gm;

/**
 * Runs `run` against the server at `url`, keeping its files under `results`.
 * @returns `scenarios`: names, each with its checks, or with what it threw where the suite wrote none; `code`: the suite's
 *   exit code; `last`: the last line it printed; `log`: the file that holds all of them.
 */
export async function runSuite(run, url, results) {
  const output = join(results, run.id);
  await rm(output, { recursive: true, force: true });
  await mkdir(output, { recursive: true });

  const { code, output: printed, complaints } = await runProcess(commandOf(run, url, output), LIMIT);
  const log = `${output}.log`;
  const said = `${printed}\n${complaints}`.trim();
  await writeFile(log, `${said}\n`);
  const last = said.split("\n").at(-1);

  // A scenario that threw left no file, so the names come from what the suite said it started.
  const scenarios = new Map();
  for (const [, name] of printed.matchAll(STARTED)) scenarios.set(name, last);
  for (const [, name, reason] of complaints.matchAll(THREW)) scenarios.set(name, reason);
  for (const directory of await readdir(output)) {
    const name = directory.match(RESULT)?.[1];
    if (!name) throw new Error(`${run.id}: the suite wrote ${directory}, which is not a result of a server scenario`);
    const checks = await readChecks(join(output, directory, "checks.json"));
    if (checks) scenarios.set(name, checks);
    else if (!scenarios.has(name)) scenarios.set(name, last);
  }
  return { scenarios, code, last, log };
}

async function readChecks(file) {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}
