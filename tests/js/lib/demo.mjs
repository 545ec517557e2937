// The server under test: how it is started, over HTTP or over a pipe.

import { start, stop } from "./process.mjs";
import { within } from "./time.mjs";

const STARTUP = 15_000;
const ANNOUNCED = /http:\/\/127\.0\.0\.1:\d+\/[^\s"]*/;
/** Where the server under test takes clients of HTTP+SSE, which it says after the first address. */
const ANNOUNCED_SSE = /http:\/\/127\.0\.0\.1:\d+\/sse(?=\s)/;

/** The command that serves over its own standard input and output. */
export const pipeCommand = (command) => [...command, "--stdio"];

/** Starts the server under test on a port of the system's choice, see `startListening`. */
export const startHttp = (command) => startListening([...command, "--port", "0"]);

/** The same; the address is the one for clients of HTTP+SSE. */
export const startSse = (command) => startListening([...command, "--port", "0"], undefined, ANNOUNCED_SSE);

/**
 * Starts a server and waits until it says on its standard output where it listens.
 * @param options what `spawn` takes besides.
 * @param announced what the address looks like.
 * @returns `url`; `stop()`; `trouble()`, a text when the server ended by itself, else undefined; `complaints()`, the
 *   last of its standard error.
 */
export async function startListening(command, options, announced = ANNOUNCED) {
  const server = start(command, options);
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
    const url = await within(STARTUP, "the server's address on its standard output", address(server, announced, () => death));
    return { url, stop: halt, trouble: () => death, complaints: server.complaints };
  } catch (error) {
    await halt();
    throw error;
  }
}

function address(server, announced, death) {
  return new Promise((resolve, reject) => {
    let output = "";
    // The listener stays for the server's whole life: an unread pipe would block it.
    server.child.stdout.setEncoding("utf8").on("data", (text) => {
      output = (output + text).slice(-4_000);
      const found = output.match(/.*\n/g)?.join("").match(announced);
      if (found) resolve(found[0]);
    });
    server.ended.then(() => reject(new Error(death() ?? "the server ended before it listened")));
  });
}
