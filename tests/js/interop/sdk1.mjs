// The TypeScript SDK 1.x, which speaks the legacy era.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

import { Answers, CAPABILITIES, CLIENT } from "./answers.mjs";
import { everyPage, openTransport } from "./peer.mjs";

/** The SDK's transports, as `openTransport` takes them. */
export const TRANSPORTS = { Http: StreamableHTTPClientTransport, Pipe: StdioClientTransport, Sse: SSEClientTransport };

const LIST_CHANGED = { tools: ToolListChangedNotificationSchema, resources: ResourceListChangedNotificationSchema };

/** Connects to `target`, see `peer.mjs` for what comes back. */
export async function connect({ target }) {
  const answers = new Answers();
  const client = new Client(CLIENT, { capabilities: CAPABILITIES });
  client.setRequestHandler(ElicitRequestSchema, (request) => answers.elicit(request));
  client.setRequestHandler(CreateMessageRequestSchema, (request) => answers.sample(request));
  client.setRequestHandler(ListRootsRequestSchema, () => answers.roots());
  const logged = [];
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logged.push(params));

  let revision;
  const transport = openTransport(target, TRANSPORTS);
  // The client tells its transport what was negotiated, and has no other way to tell.
  const told = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => {
    revision = version;
    told?.(version);
  };
  await client.connect(transport);

  return {
    answers,
    logged,
    negotiated: () => ({ era: "legacy", revision }),
    server: () => ({ info: client.getServerVersion(), capabilities: client.getServerCapabilities() }),
    tools: () => everyPage("tools", (page) => client.listTools(page)),
    resources: () => everyPage("resources", (page) => client.listResources(page)),
    templates: () => everyPage("resourceTemplates", (page) => client.listResourceTemplates(page)),
    prompts: () => everyPage("prompts", (page) => client.listPrompts(page)),
    call: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
    read: (uri) => client.readResource({ uri }),
    prompt: (name, args) => client.getPrompt({ name, arguments: args }),
    complete: (params) => client.complete(params),
    async watch(uri, changed) {
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => changed(params.uri));
      await client.subscribeResource({ uri });
      return () => client.unsubscribeResource({ uri });
    },
    async watchList(name, changed) {
      client.setNotificationHandler(LIST_CHANGED[name], () => changed());
      return () => client.removeNotificationHandler(`notifications/${name}/list_changed`);
    },
    async close() {
      await transport.terminateSession?.();
      await client.close();
    },
  };
}
