// The echo tool with the TypeScript SDK 2.x, for `cargo xtask bench`: `echo.mjs stdio`, `http` (as its documentation
// mounts a server, for both eras) or `session` (legacy sessions). The port is the first line of stdout.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

// Made once: only the server is made again for each request or session, which is the SDK's way.
const schemas = { inputSchema: z.object({ message: z.string() }), outputSchema: z.object({ message: z.string() }) };

function build() {
  const server = new McpServer({ name: "echo", version: "1.0.0" });
  server.registerTool("echo", { description: "Say it again.", ...schemas }, async ({ message }) => ({
    content: [{ type: "text", text: JSON.stringify({ message }) }],
    structuredContent: { message },
  }));
  return server;
}

function listen(handler) {
  const server = createServer(toNodeHandler(handler));
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}

/** Each legacy session has a server and a transport of its own. */
function inSessions() {
  const sessions = new Map();
  const open = async () => {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    await build().connect(transport);
    return transport;
  };
  return {
    async fetch(request) {
      const transport = sessions.get(request.headers.get("mcp-session-id")) ?? (await open());
      return transport.handleRequest(request);
    },
  };
}

const serve = {
  stdio: () => serveStdio(build),
  http: () => listen(createMcpHandler(build)),
  session: () => listen(inSessions()),
};
serve[process.argv[2]]();
