// The TypeScript SDK 2.x as a server: both eras on one pipe, and on one HTTP endpoint.

import { randomBytes, randomUUID } from "node:crypto";

import { toNodeHandler } from "@modelcontextprotocol/node";
import {
  completable,
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  isLegacyRequest,
  McpServer,
  ResourceTemplate,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

import { listen, start } from "./serve.mjs";
import { register, registerAdded, World } from "./surface.mjs";

/** Under which key a question stands in an input-required result, and the client's answer in the next request. */
const QUESTION = "question";

const world = new World();
const states = createRequestStateCodec({ key: randomBytes(32) });
const serve = { stdio, http };
serve[start(Object.keys(serve))]();

function stdio() {
  serveStdio(({ era }) => connected(era), { onerror: console.error });
}

function http() {
  // A modern request has a server of its own, which is gone after it: the endpoint does the telling.
  const modern = createMcpHandler(() => build(), { legacy: "reject", onerror: console.error });
  world.follow({ updated: (uri) => modern.notify.resourceUpdated(uri), added: () => modern.notify.toolsChanged() });

  const sessions = new Map();
  const fetch = async (request, options) => {
    if (!(await isLegacyRequest(request))) return modern.fetch(request, options);
    const id = request.headers.get("mcp-session-id") ?? undefined;
    if (id !== undefined && !sessions.has(id)) return Response.json({ error: "Session not found" }, { status: 404 });
    return (sessions.get(id) ?? (await open(sessions))).handleRequest(request);
  };
  listen("/mcp", toNodeHandler({ fetch }, { onerror: console.error }));
}

/** Opens a legacy session. */
async function open(sessions) {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => void sessions.delete(id),
  });
  await connected("legacy").connect(transport);
  return transport;
}

/** A server that has one connection for all of its life, and tells it of changes. */
function connected(era) {
  const server = build();
  const subscribed = new Set();
  // The modern era has no such requests: the SDK answers `subscriptions/listen` and keeps back what was not asked for.
  if (era === "legacy") {
    server.server.setRequestHandler("resources/subscribe", ({ params }) => (subscribed.add(params.uri), {}));
    server.server.setRequestHandler("resources/unsubscribe", ({ params }) => (subscribed.delete(params.uri), {}));
  }
  const wanted = (uri) => era === "modern" || subscribed.has(uri);
  server.server.onclose = world.follow({
    updated: (uri) => wanted(uri) && server.server.sendResourceUpdated({ uri }).catch(console.error),
    added: (name) => registerAdded(server, name),
  });
  return server;
}

function build() {
  const server = new McpServer(
    { name: "fixture-v2", version: "1.0.0" },
    {
      capabilities: { logging: {}, resources: { subscribe: true } },
      instructions: "Try every tool.",
      requestState: { verify: states.verify },
    },
  );
  register(server, world, { ResourceTemplate, completable, argsSchema: z.object, context });
  return server;
}

function context(_server, { mcpReq }) {
  const { progressToken } = mcpReq._meta ?? {};
  return {
    signal: mcpReq.signal,
    async progress(progress, total) {
      if (progressToken === undefined) return;
      await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total } });
    },
    log: (level, data) => mcpReq.log(level, data, "fixture"),
    /** Written for the modern era; in the legacy one the SDK makes a real request of it and calls the tool again. */
    async ask({ method, params }, told) {
      const answer = mcpReq.inputResponses?.[QUESTION];
      if (answer === undefined) {
        const requestState = await states.mint({ method });
        return inputRequired({ inputRequests: { [QUESTION]: { method, params } }, requestState });
      }
      if (mcpReq.requestState()?.method !== method) throw new Error("the state of the first round did not come back");
      return told(answer);
    },
  };
}
