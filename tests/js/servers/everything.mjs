// Serves `@modelcontextprotocol/server-everything` over HTTP as the other fixtures are served. Its own commands listen on
// every address and cannot say which port they were given. Over a pipe it is started as it is.

import { Server } from "node:http";

import { ready, start } from "./serve.mjs";

const PACKAGE = "@modelcontextprotocol/server-everything/dist/transports";
const SERVE = {
  http: { module: `${PACKAGE}/streamableHttp.js`, path: "/mcp" },
  sse: { module: `${PACKAGE}/sse.js`, path: "/sse" },
};

const { module, path } = SERVE[start(Object.keys(SERVE))];
// Standard output is for the line that says where.
console.log = console.error;
const { listen } = Server.prototype;
Server.prototype.listen = function (_port, listening) {
  return listen.call(this, 0, "127.0.0.1", () => {
    listening?.call(this);
    ready(this, path);
  });
};
await import(module);
