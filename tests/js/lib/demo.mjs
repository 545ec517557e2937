// The server under test: how it is started, over HTTP or over a pipe.

import { start, stop } from "./process.mjs";
import { within } from "./time.mjs";

const STARTUP = 15_000;
const ANNOUNCED = /http:\/\/127\.0\.0\.1:\d+\/\S*/;

/** The command that serves over its own standard input and output. */
export const pipeCommand = (command) => [...command, "--stdio"];

/**
 * Starts the server on a port of the system's choice and waits until it says where it listens.
 * @returns `url`; `stop()`; `trouble()`, a text when the server ended by itself, else undefined; `complaints()`, the
 *   last of its standard error.
 */
export async function startHttp(command) {
  const server = start([...command, "--port", "0"]);
  let stopping = false;
  let death;
  server.ended.then((how) => {
    if (!stopping) death = `the server ended by itself (${how || "exit code 0"}): ${server.complaints()}`;
  });
  const halt = async () => {
    stopping = true;
    await stop(server);
  };
  try {
    const url = await within(STARTUP, "the server's address on its standard output", address(server, () => death));
    return { url, stop: halt, trouble: () => death, complaints: server.complaints };
  } catch (error) {
    await halt();
    throw error;
  }
}

function address(server, death) {
  return new Promise((resolve, reject) => {
    let output = "";
    // The listener stays for the server's whole life: an unread pipe would block it.
    server.child.stdout.setEncoding("utf8").on("data", (text) => {
      output = (output + text).slice(-4_000);
      const found = output.match(/.*\n/g)?.join("").match(ANNOUNCED);
      if (found) resolve(found[0]);
    });
    server.ended.then(() => reject(new Error(death() ?? "the server ended before it listened")));
  });
}
