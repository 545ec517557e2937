// How a fixture lives: where it listens, how it says so, when it ends.

import { createServer } from "node:http";

/**
 * Reads the binding from the command line, and ends this process when its input ends or a signal comes.
 * @param bindings what this fixture serves over.
 */
export function start(bindings) {
  const [binding, ...rest] = process.argv.slice(2);
  if (!bindings.includes(binding) || rest.length > 0) {
    console.error(`usage: ${process.argv[1]} ${bindings.join("|")}`);
    process.exit(2);
  }
  for (const name of ["SIGTERM", "SIGINT"]) process.on(name, () => process.exit(0));
  process.stdin.once("end", () => process.exit(0));
  // On a pipe the transport does the reading.
  if (binding !== "stdio") process.stdin.resume();
  return binding;
}

/** Serves `handle(request, response)` on a port of the system's choice, and prints the address of `path` there. */
export function listen(path, handle) {
  const server = createServer((request, response) => {
    handle(request, response).catch((error) => {
      console.error(error);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  server.listen(0, "127.0.0.1", () => ready(server, path));
}

/** Prints the one line that says where the fixture listens. */
export function ready(server, path) {
  const { address, port } = server.address();
  process.stdout.write(`READY ${JSON.stringify({ url: `http://${address}:${port}${path}` })}\n`);
}

/** Answers a request that no session is for. */
export function refuse(response, status, message) {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32_000, message }, id: null }));
}
