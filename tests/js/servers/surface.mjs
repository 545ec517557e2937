// What the fixture servers offer, written once for every SDK.

import { setTimeout as pause } from "node:timers/promises";

import { z } from "zod";

/** A text that never changes. */
export const STATIC = "fixture://static";
/** A text that `touch` changes: the number of touches. */
export const COUNTER = "fixture://counter";

const LANGUAGES = ["English", "Estonian", "French", "German"];
const ITEMS = ["anvil", "anchor", "bolt"];

/** Between two steps of `slow`, in milliseconds. */
const STEP = 10;
/** No call of `hang` outlives this, in milliseconds: a client that never cancels must not keep us. */
const PATIENCE = 60_000;

/**
 * What all connections of one process share. Whoever follows it is told of changes:
 * `updated(uri)` when a resource changed, `added(name)` when a tool came.
 */
export class World {
  touches = 0;
  cancelled = 0;
  tools = [];
  #followers = new Set();

  /** @returns a function that ends the following. */
  follow(follower) {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  touch() {
    this.touches += 1;
    for (const follower of this.#followers) follower.updated?.(COUNTER);
  }

  add(name) {
    if (this.tools.includes(name)) throw new Error(`there is a tool called ${name} already`);
    this.tools.push(name);
    for (const follower of this.#followers) follower.added?.(name);
  }
}

/**
 * Registers the whole surface with `server`, an `McpServer` of either SDK. What differs between them comes in `sdk`:
 * `ResourceTemplate`, `completable`, `argsSchema(fields)`, which makes a prompt's schema, and `context(server, raw)`, which
 * makes of an SDK's request context
 *
 *   signal                         fires when the client cancels the request
 *   progress(progress, total)      reports progress, where the client asked for it
 *   log(level, data)               sends a log message
 *   ask({ method, params }, told)  asks the client; `told` makes the tool's result of its answer
 */
export function register(server, world, sdk) {
  const tool = (name, description, input, run, output) => {
    const config = { description, inputSchema: z.object(input), ...(output && { outputSchema: z.object(output) }) };
    server.registerTool(name, config, (args, raw) => run(args, sdk.context(server, raw)));
  };

  tool("add", "Adds two numbers.", { a: z.number(), b: z.number() }, ({ a, b }) => structured({ sum: a + b }), {
    sum: z.number(),
  });

  const steps = z.number().int().min(1).max(100);
  tool("slow", "Reports progress, step by step.", { steps }, async ({ steps }, context) => {
    for (let step = 1; step <= steps; step += 1) {
      await pause(STEP);
      await context.progress(step, steps);
    }
    return text(`${steps} steps`);
  });

  const levels = z.enum(["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]);
  tool("log", "Sends a log message.", { level: levels, text: z.string() }, async ({ level, text: data }, context) => {
    await context.log(level, data);
    return text("logged");
  });

  tool("fail", "Fails.", { text: z.string() }, ({ text }) => {
    throw new Error(text);
  });

  tool("hang", "Waits to be cancelled.", {}, async (_, context) => {
    context.signal.addEventListener("abort", () => (world.cancelled += 1), { once: true });
    // The first report tells the client that the call arrived; there is no other.
    await context.progress(0);
    await pause(PATIENCE, undefined, { signal: context.signal });
    return text("nobody cancelled");
  });
  tool("cancelled_count", "Tells how many calls were cancelled.", {}, () => structured({ count: world.cancelled }), {
    count: z.number().int(),
  });

  tool("touch", `Changes ${COUNTER}.`, {}, () => {
    world.touch();
    return text(`touched ${world.touches} times`);
  });
  tool("add_tool", "Adds a tool.", { name: z.string().regex(/^[a-z_]{1,32}$/) }, ({ name }) => {
    world.add(name);
    return text(`added ${name}`);
  });
  for (const name of world.tools) registerAdded(server, name);

  registerQuestions(tool);
  registerResources(server, world, sdk);
  registerPrompt(server, sdk);
}

/** Registers what `add_tool` added; a server that has a connection tells its client. */
export function registerAdded(server, name) {
  server.registerTool(name, { description: "Was added.", inputSchema: z.object({}) }, () => text(`${name} was added`));
}

/** Each answers with one text, the client's answer as JSON. */
function registerQuestions(tool) {
  const ask = (name, description, input, question) =>
    tool(name, description, input, (args, context) => context.ask(question(args), (answer) => text(JSON.stringify(answer))));

  ask("ask_sampling", "Asks the client's model.", { prompt: z.string() }, ({ prompt }) => ({
    method: "sampling/createMessage",
    params: { messages: [{ role: "user", content: { type: "text", text: prompt } }], maxTokens: 100 },
  }));
  ask("ask_form", "Asks the client's user to fill in a form.", { message: z.string() }, ({ message }) => ({
    method: "elicitation/create",
    params: {
      mode: "form",
      message,
      requestedSchema: {
        type: "object",
        properties: {
          name: { type: "string", title: "Name" },
          colour: { type: "string", enum: ["red", "green", "blue"], default: "green" },
          count: { type: "integer", minimum: 1, maximum: 9, default: 3 },
          agreed: { type: "boolean", default: true },
        },
        required: ["name"],
      },
    },
  }));
  ask("ask_url", "Asks the client's user to open an address.", { url: z.url() }, ({ url }) => ({
    method: "elicitation/create",
    params: { mode: "url", message: "Please open this.", url },
  }));
  ask("ask_roots", "Asks for the client's roots.", {}, () => ({ method: "roots/list", params: {} }));
}

function registerResources(server, world, { ResourceTemplate }) {
  const plain = { mimeType: "text/plain" };
  const contents = (uri, text) => ({ contents: [{ uri: String(uri), ...plain, text }] });
  server.registerResource("static", STATIC, plain, (uri) => contents(uri, "This text never changes."));
  server.registerResource("counter", COUNTER, plain, (uri) => contents(uri, `touched ${world.touches} times`));

  const items = new ResourceTemplate("fixture://item/{id}", {
    list: undefined,
    complete: { id: (value) => ITEMS.filter((item) => item.startsWith(value)) },
  });
  server.registerResource("item", items, plain, (uri, { id }) => contents(uri, `This is item ${id}.`));
}

function registerPrompt(server, { completable, argsSchema: shape }) {
  const language = completable(z.string(), (value) => LANGUAGES.filter((name) => name.startsWith(value)));
  const argsSchema = shape({ name: z.string(), language });
  server.registerPrompt("greet", { description: "Greets somebody.", argsSchema }, ({ name, language }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Greet ${name} in ${language}.` } }],
  }));
}

const text = (value) => ({ content: [{ type: "text", text: value }] });
const structured = (value) => ({ ...text(JSON.stringify(value)), structuredContent: value });
