// The TypeScript client 2.x, which speaks both eras.

import { Client, LOG_LEVEL_META_KEY, SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { Answers, CAPABILITIES, CLIENT } from "./answers.mjs";
import { everyPage, openTransport } from "./peer.mjs";

/** In the modern era each request says which log messages it wants. */
const ALL_LOGS = { [LOG_LEVEL_META_KEY]: "debug" };

const TRANSPORTS = { Http: StreamableHTTPClientTransport, Pipe: StdioClientTransport, Sse: SSEClientTransport };

/** Connects to `target` in the negotiation mode `mode`, see `peer.mjs` for what comes back. */
export async function connect({ target, mode }) {
  const answers = new Answers();
  const client = new Client(CLIENT, { capabilities: CAPABILITIES, versionNegotiation: { mode } });
  // In the modern era the client calls the same handlers to answer an input-required result.
  client.setRequestHandler("elicitation/create", (request) => answers.elicit(request));
  client.setRequestHandler("sampling/createMessage", (request) => answers.sample(request));
  client.setRequestHandler("roots/list", () => answers.roots());
  const logged = [];
  client.setNotificationHandler("notifications/message", ({ params }) => void logged.push(params));

  const transport = openTransport(target, TRANSPORTS);
  await client.connect(transport);
  const modern = client.getProtocolEra() === "modern";

  return {
    answers,
    logged,
    negotiated: () => ({ era: client.getProtocolEra(), revision: client.getNegotiatedProtocolVersion() }),
    server: () => ({ info: client.getServerVersion(), capabilities: client.getServerCapabilities() }),
    tools: () => everyPage("tools", (page) => client.listTools(page)),
    resources: () => everyPage("resources", (page) => client.listResources(page)),
    templates: () => everyPage("resourceTemplates", (page) => client.listResourceTemplates(page)),
    prompts: () => everyPage("prompts", (page) => client.listPrompts(page)),
    call: (name, args, options) => client.callTool({ name, arguments: args, ...(modern && { _meta: ALL_LOGS }) }, options),
    read: (uri) => client.readResource({ uri }),
    prompt: (name, args) => client.getPrompt({ name, arguments: args }),
    complete: (params) => client.complete(params),
    async watch(uri, changed) {
      client.setNotificationHandler("notifications/resources/updated", ({ params }) => changed(params.uri));
      if (modern) {
        const subscription = await client.listen({ resourceSubscriptions: [uri] });
        return () => subscription.close();
      }
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
    async watchList(name, changed) {
      const method = `notifications/${name}/list_changed`;
      client.setNotificationHandler(method, () => changed());
      const subscription = modern && (await client.listen({ [`${name}ListChanged`]: true }));
      return () => (subscription ? subscription.close() : client.removeNotificationHandler(method));
    },
    async close() {
      if (!modern) await transport.terminateSession?.();
      await client.close();
    },
  };
}
