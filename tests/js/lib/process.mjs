// Starting and stopping processes. Whatever is started here is dead before this process is.

import { spawn } from "node:child_process";

import { within } from "./time.mjs";

/** How much of a process's standard error is kept for a message, in characters. */
export const TAIL = 16_000;

/** What must die with us: a process id, negative for a whole process group, as `kill` has it. */
const doomed = new Set();

/** Kills `pid` when this process ends, until the returned function is called. */
export function dieWithUs(pid) {
  doomed.add(pid);
  return () => doomed.delete(pid);
}

/**
 * Makes this process clean up after itself however it ends, and end after `ms` milliseconds at the latest.
 * Call it once, first.
 */
export function guard(ms) {
  process.on("exit", () => doomed.forEach((pid) => signal(pid, "SIGKILL")));
  for (const [name, code] of [["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129]]) {
    process.on(name, () => process.exit(code));
  }
  setTimeout(() => {
    console.error(`gave up: the whole run took longer than ${ms / 1000} s`);
    process.exit(1);
  }, ms).unref();
}

/**
 * Starts `command` as the head of a process group of its own.
 * @returns `child`, the process; `ended`, a promise of how it ended, as text, empty for exit code 0;
 *   `code()`, its exit code, null while it runs or when a signal ended it; `complaints()`, the last of its standard error.
 */
export function start(command, options = {}) {
  const [file, ...args] = command;
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"], detached: true, ...options });
  const spare = child.pid === undefined ? () => {} : dieWithUs(-child.pid);
  let complaints = "";
  child.stderr?.setEncoding("utf8").on("data", (text) => {
    complaints = (complaints + text).slice(-TAIL);
  });
  const ended = new Promise((resolve) => {
    child.once("error", (error) => resolve(`could not start: ${error.message}`));
    child.once("close", (code, name) => {
      spare();
      resolve(code === 0 ? "" : name ? `ended by ${name}` : `exit code ${code}`);
    });
  });
  return { child, ended, code: () => child.exitCode, complaints: () => complaints.trim() };
}

/** Ends a started process and its group: asks, and after `grace` milliseconds insists. */
export async function stop({ child, ended }, grace = 3_000) {
  if (child.pid === undefined) return;
  signal(-child.pid, "SIGTERM");
  try {
    await within(grace, "stopping", ended);
  } catch {
    signal(-child.pid, "SIGKILL");
    await ended;
  }
}

/**
 * Runs `command` to its end, for at most `ms` milliseconds.
 * @returns its exit code and standard output; throws when it could not start, was killed or ran too long.
 */
export async function run(command, ms, options) {
  const process_ = start(command, options);
  let output = "";
  process_.child.stdout.setEncoding("utf8").on("data", (text) => (output += text));
  try {
    const how = await within(ms, command.join(" "), process_.ended);
    if (process_.code() === null) throw new Error(how);
    return { code: process_.code(), output, complaints: process_.complaints() };
  } finally {
    await stop(process_);
  }
}

function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch (error) {
    // It is gone already, which is what was wanted.
    if (error.code !== "ESRCH") throw error;
  }
}
