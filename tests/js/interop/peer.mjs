// What the steps see of a client. Each adapter's `connect` returns an object of this shape:
//
//   negotiated()              the era and the revision that were agreed on
//   server()                  what the server says of itself: `info`, `capabilities`
//   tools(), resources(), templates(), prompts()   every page's entries
//   call(name, args, { signal, onprogress })       a tool's result
//   read(uri), prompt(name, args), complete(params)  the raw results
//   watch(uri, changed)       calls `changed(uri)` for each update until the returned function is called
//   watchList(name, changed)  calls `changed()` for each change of the list until the returned function is called
//   logged                    the log messages that came, in order
//   answers                   what the server asked, see `answers.mjs`
//   close()                   ends the connection, and the server's process where the client started it

import { dieWithUs, TAIL } from "../lib/process.mjs";

/** No list of the demo server is near this long; a cursor that never ends is a fault of the server. */
const PAGES = 50;

/** Follows the cursors of a list. */
export async function everyPage(field, fetchPage) {
  const entries = [];
  let cursor;
  for (let page = 0; page < PAGES; page += 1) {
    // The 2.x client walks the pages by itself unless it is given a cursor, and then returns none.
    const result = await fetchPage(cursor === undefined ? undefined : { cursor });
    entries.push(...result[field]);
    cursor = result.nextCursor;
    if (cursor === undefined) return entries;
  }
  throw new Error(`the list of ${field} has more than ${PAGES} pages`);
}

/**
 * Makes the transport to `target`: over HTTP where it has a `url` (the HTTP+SSE of 2024 where it has `sse`), else by
 * starting its `command`, where it has an `env` in that environment. A started server dies with us however we end; the last
 * of its standard error goes to `target.complaints`.
 */
export function openTransport(target, { Http, Pipe, Sse }) {
  if (target.url) return new (target.sse ? Sse : Http)(new URL(target.url));

  const [command, ...args] = target.command;
  const transport = new Pipe({ command, args, env: target.env, stderr: "pipe" });
  transport.stderr.on("data", (text) => {
    target.complaints = (target.complaints + text).slice(-TAIL);
  });
  const start = transport.start.bind(transport);
  const close = transport.close.bind(transport);
  let spare = () => {};
  transport.start = async () => {
    await start();
    spare = dieWithUs(transport.pid);
  };
  transport.close = async () => {
    await close();
    spare();
  };
  return transport;
}
