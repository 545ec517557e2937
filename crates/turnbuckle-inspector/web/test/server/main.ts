// A server of revision 2025-11-25 on stdio, for tests of the page: `node main.ts [--tools COUNT]`.
// It writes its answers as text, so that their numbers, names and escapes stand as the tests expect.

import { createInterface } from "node:readline";
import { type Json, prompts, resources, templates, tools } from "./items.ts";
import { promptResult, resourceResult, textResult, toolResult } from "./results.ts";

type Id = string | number;
type Message = { id?: Id; method?: string; params?: Json; result?: Json; error?: Json };

const NAMES = ["Ada Example", "Grace Example", "Gregor Example"];
const SLOW_STEPS = 600;

const at = process.argv.indexOf("--tools");
const list = tools(at < 0 ? 0 : Number(process.argv[at + 1]));

let version = 1;
let lastId = 0;
const asked = new Map<Id, (answer: Message) => void>();
const slow = new Map<Id, NodeJS.Timeout>();
const subscribed = new Set<string>();

const write = (body: string) => void process.stdout.write(`{"jsonrpc":"2.0",${body}}\n`);
const answer = (id: Id, result: string) => write(`"id":${JSON.stringify(id)},"result":${result}`);
const notify = (method: string, params: Json) =>
  write(`"method":"${method}","params":${JSON.stringify(params)}`);

/** The request is answered later, or never. */
const LATER = "";

/** Asks the client, and answers a call with what it says. */
function ask(call: Id, method: string, params: Json): string {
  lastId += 1;
  const id = `question-${lastId}`;
  asked.set(id, ({ result, error }) => answer(call, textResult(JSON.stringify(result ?? error))));
  write(`"id":"${id}","method":"${method}","params":${JSON.stringify(params)}`);
  return LATER;
}

function callTool(id: Id, name: string, params: Json, line: string): string | undefined {
  switch (name) {
    case "ask_form":
      return ask(id, "elicitation/create", {
        message: "What is your name?",
        requestedSchema: {
          type: "object",
          properties: { name: { type: "string", minLength: 1 }, age: { type: "integer" } },
          required: ["name"],
        },
      });
    case "ask_url":
      return ask(id, "elicitation/create", {
        mode: "url",
        message: "Please confirm the payment.",
        url: "https://shop.example/pay?order=1107",
        elicitationId: "pay-1107",
      });
    case "ask_model":
      return ask(id, "sampling/createMessage", {
        messages: [{ role: "user", content: { type: "text", text: "Name a colour." } }],
        maxTokens: 20,
      });
    case "ask_roots":
      return ask(id, "roots/list", {});
    case "slow":
      return startSlow(id, (params._meta as Json | undefined)?.progressToken as Id | undefined);
    case "print":
      process.stdout.write("this line is no message\n");
      process.stderr.write("a line of stderr \u001b[31mred\u001b[0m\n");
      return textResult("printed");
    case "change":
      version += 1;
      for (const uri of subscribed) {
        notify("notifications/resources/updated", { uri });
      }
      return textResult(`version ${version}`);
    case "crash":
      process.stderr.write("KeyError: 'title'\n", () => process.exit(3));
      return LATER;
    default:
      return toolResult(name, line);
  }
}

function startSlow(id: Id, progressToken: Id | undefined): string {
  let progress = 0;
  const report = () => {
    progress += 1;
    if (progressToken !== undefined) {
      const message = `Step ${progress}`;
      notify("notifications/progress", { progressToken, progress, total: SLOW_STEPS, message });
    }
  };
  report();
  slow.set(id, setInterval(report, 100));
  return LATER;
}

function complete(params: Json): string {
  const { value } = params.argument as { value: string };
  const values = NAMES.filter((name) => name.toLowerCase().startsWith(value.toLowerCase()));
  return JSON.stringify({ completion: { values } });
}

const WELCOME = {
  protocolVersion: "2025-11-25",
  serverInfo: { name: "shop", version: "2.4.1" },
  instructions: "Search an order before you change it. Amounts are in cents.",
  capabilities: {
    tools: {},
    resources: { subscribe: true },
    prompts: {},
    completions: {},
    logging: {},
  },
};

/** Returns the result of a request; undefined if it is refused. */
function resultOf(id: Id, method: string, params: Json, line: string): string | undefined {
  const name = String(params.name ?? params.uri ?? "");
  switch (method) {
    case "initialize":
      return JSON.stringify(WELCOME);
    case "tools/list":
      return JSON.stringify({ tools: list });
    case "resources/list":
      return JSON.stringify({ resources });
    case "resources/templates/list":
      return JSON.stringify({ resourceTemplates: templates });
    case "prompts/list":
      return JSON.stringify({ prompts });
    case "tools/call":
      return callTool(id, name, params, line);
    case "resources/read":
      return resourceResult(name, version);
    case "resources/subscribe":
      subscribed.add(name);
      return "{}";
    case "resources/unsubscribe":
      subscribed.delete(name);
      return "{}";
    case "prompts/get":
      return promptResult(String((params.arguments as Json | undefined)?.customer));
    case "completion/complete":
      return complete(params);
    case "ping":
    case "logging/setLevel":
      return "{}";
    default:
      return undefined;
  }
}

function receive(line: string): void {
  const { id, method, params = {}, ...rest } = JSON.parse(line) as Message;
  if (method === undefined && id !== undefined) {
    asked.get(id)?.(rest);
    asked.delete(id);
  } else if (method === "notifications/cancelled") {
    clearInterval(slow.get(params.requestId as Id));
  } else if (id !== undefined && method !== undefined) {
    const result = resultOf(id, method, params, line);
    if (result === undefined) {
      const error = { code: -32601, message: `There is no ${String(params.name ?? method)}.` };
      write(`"id":${JSON.stringify(id)},"error":${JSON.stringify(error)}`);
    } else if (result !== LATER) {
      answer(id, result);
    }
  }
}

process.stderr.write("shop is ready\n");
const lines = createInterface({ input: process.stdin });
lines.on("line", receive);
lines.on("close", () => process.exit(0));
