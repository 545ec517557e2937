// The TypeScript SDK 1.x as a server: the legacy era over a pipe, Streamable HTTP with sessions, and HTTP+SSE.

import { randomUUID } from "node:crypto";

import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import {
  CreateMessageResultSchema,
  ElicitResultSchema,
  ListRootsResultSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";

import { listen, refuse, start } from "./serve.mjs";
import { register, registerAdded, World } from "./surface.mjs";

const ANSWERS = {
  "elicitation/create": ElicitResultSchema,
  "sampling/createMessage": CreateMessageResultSchema,
  "roots/list": ListRootsResultSchema,
};

const world = new World();
const serve = { stdio, http, sse };
await serve[start(Object.keys(serve))]();

async function stdio() {
  await build().connect(new StdioServerTransport());
}

async function http() {
  const sessions = new Map();
  listen("/mcp", async (request, response) => {
    const id = request.headers["mcp-session-id"];
    if (id !== undefined && !sessions.has(id)) return refuse(response, 404, "Session not found");
    const transport = sessions.get(id) ?? (await open());
    await transport.handleRequest(request, response);
  });

  async function open() {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => sessions.set(id, transport),
      onsessionclosed: (id) => sessions.delete(id),
    });
    await build().connect(transport);
    return transport;
  }
}

async function sse() {
  const sessions = new Map();
  listen("/sse", async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://localhost");
    if (request.method === "GET" && pathname === "/sse") {
      const transport = new SSEServerTransport("/message", response);
      sessions.set(transport.sessionId, transport);
      response.once("close", () => sessions.delete(transport.sessionId));
      return build().connect(transport);
    }
    const transport = request.method === "POST" && pathname === "/message" && sessions.get(searchParams.get("sessionId"));
    if (!transport) return refuse(response, 404, "Session not found");
    await transport.handlePostMessage(request, response);
  });
}

/** One server per connection; they share the world. */
function build() {
  const server = new McpServer(
    { name: "fixture-v1", version: "1.0.0" },
    { capabilities: { logging: {}, resources: { subscribe: true } }, instructions: "Try every tool." },
  );
  // The SDK leaves subscriptions to the server's author.
  const subscribed = new Set();
  server.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => (subscribed.add(params.uri), {}));
  server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => (subscribed.delete(params.uri), {}));
  server.server.onclose = world.follow({
    updated: (uri) => subscribed.has(uri) && server.server.sendResourceUpdated({ uri }).catch(console.error),
    added: (name) => registerAdded(server, name),
  });
  register(server, world, { ResourceTemplate, completable, argsSchema: (fields) => fields, context });
  return server;
}

function context(server, extra) {
  const { progressToken } = extra._meta ?? {};
  return {
    signal: extra.signal,
    async progress(progress, total) {
      if (progressToken === undefined) return;
      await extra.sendNotification({ method: "notifications/progress", params: { progressToken, progress, total } });
    },
    // Not related to the request: over HTTP it goes out on the stream that the client opened with GET.
    log: (level, data) => server.sendLoggingMessage({ level, data, logger: "fixture" }, extra.sessionId),
    async ask({ method, params }, told) {
      const identified = params.mode === "url" ? { ...params, elicitationId: randomUUID() } : params;
      return told(await extra.sendRequest({ method, params: identified }, ANSWERS[method]));
    },
  };
}
