// What both scripts take on the command line.

import { parseArgs } from "node:util";

/** The oldest Node that the packages run on. */
const NODE = 22;

/**
 * Reads `[BINARY] [options] [--server COMMAND...]`, where `--server` takes all that follows it.
 * @param options what this script takes besides, as `util.parseArgs` has it.
 * @returns the options by name, and `command`: what starts the server, its mode not yet appended.
 */
export function readArguments(usage, options) {
  const major = Number(process.versions.node.split(".")[0]);
  if (major < NODE) fail(`Node ${NODE} or newer is needed, not ${process.version}: see tests/js/install.sh --where`);

  const given = process.argv.slice(2);
  const at = given.indexOf("--server");
  const own = at < 0 ? given : given.slice(0, at);
  try {
    const { values, positionals } = parseArgs({
      args: own,
      options: { help: { type: "boolean" }, ...options },
      allowPositionals: true,
    });
    if (values.help) {
      console.log(usage);
      process.exit(0);
    }
    const named = at < 0 ? positionals : given.slice(at + 1);
    if (at >= 0 && positionals.length > 0) throw new Error("either a binary or --server, not both");
    if (at < 0 && positionals.length > 1) throw new Error(`one binary, not ${positionals.length}`);
    const command = named.length === 0 ? undefined : at < 0 ? [named[0], "demo"] : named;
    if (!command && !values.url) throw new Error("which server?");
    return { ...values, command };
  } catch (error) {
    fail(`${error.message}\n${usage}`);
  }
}

/** Ends with a message and exit code 2: the call was wrong, nothing was tested. */
export function fail(message) {
  console.error(message);
  process.exit(2);
}
