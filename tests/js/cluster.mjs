// The work of the TypeScript client 2.x with instances behind a proxy; one line of JSON for each outcome.
//
//     node cluster.mjs legacy|modern URL SECONDS

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const LIMIT = 25_000;
const SOON = 8_000;
const TWICE = 200;
// As the guide says: by default this SDK gives a stream up after two attempts, within the pause of a store.
const RECONNECTION = { initialReconnectionDelay: 500, maxReconnectionDelay: 2_000, reconnectionDelayGrowFactor: 1.5, maxRetries: 50 };
const MODES = { legacy: "legacy", modern: { pin: "2026-07-28" } };

const [era, url, seconds] = process.argv.slice(2);
const name = `TypeScript ${era}`;
const end = Date.now() + Number(seconds) * 1000;

function print(action, began, outcome, text = "") {
  console.log(JSON.stringify({ client: name, action, outcome, text, millis: Date.now() - began }));
}

/** Rejects with a `silence` when nothing came in time. */
function within(millis, promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(Object.assign(new Error(what), { silence: true })), millis);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Runs an action, and prints its outcome: what it returns, or the kind of what it throws. */
async function act(action, run) {
  const began = Date.now();
  try {
    const wrong = await within(LIMIT, run(), "no end");
    print(action, began, wrong === undefined ? "done" : "wrong", wrong);
  } catch (error) {
    const text = `${error.name} ${error.code ?? ""} ${error.message}`;
    if (error.told) return print(action, began, error.told, text);
    // In the modern era this SDK does not tell a call that its stream has ended.
    if (error.silence && era === "modern") print(action, began, "cut", text);
    else if (error.silence || /request timed out/i.test(error.message)) print(action, began, "silence", text);
    // The errors of JSON-RPC have numbers, also in the body of a response with an HTTP status.
    else if ((typeof error.code === "number" && error.code < 0) || /"code":-32\d+/.test(error.message)) print(action, began, "named", text);
    else print(action, began, "cut", text);
  }
}

const makeClient = () => new Client({ name: "cluster", version: "1.0.0" }, { capabilities: { elicitation: {} }, versionNegotiation: { mode: MODES[era] } });
const told = [];

/** Connects; again for as long as a fault lets no session be opened. */
async function connect() {
  for (;;) {
    const client = makeClient();
    client.setRequestHandler("elicitation/create", ({ params }) => ({ action: "accept", content: { answer: params.message } }));
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => void told.push(params.uri));
    // A stream that ends is opened again; what its call comes to is told by the call.
    client.onerror = () => {};
    try {
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { reconnectionOptions: RECONNECTION }));
      return client;
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

// The SDK sends answers to questions by itself. One that was refused, because the store fails, is an outcome
// of the call that asked; without this it ends the process.
process.on("unhandledRejection", () => {});
const client = await connect();

async function call(tool, args, wanted) {
  const result = await client.callTool({ name: tool, arguments: args }, { timeout: LIMIT, onprogress: () => {} });
  const text = result.content.map((block) => block.text).join("");
  if (text === wanted) return undefined;
  if (result.isError) throw Object.assign(new Error(text), { code: -1 });
  return text;
}

async function watch(uri) {
  const subscription = era === "modern" ? await client.listen({ resourceSubscriptions: [uri] }) : undefined;
  if (!subscription) await client.subscribeResource({ uri });
  const wrong = await call("touch", { uri }, "touched");
  if (wrong !== undefined) return wrong;
  const count = () => told.filter((it) => it === uri).length;
  const limit = Date.now() + SOON;
  while (count() === 0 && Date.now() < limit) await new Promise((resolve) => setTimeout(resolve, 10));
  await new Promise((resolve) => setTimeout(resolve, TWICE));
  const times = count();
  if (subscription) await subscription.close();
  else await client.unsubscribeResource({ uri });
  if (times > 1) throw Object.assign(new Error(uri), { told: "repeated" });
  // In the modern era nothing is told again to a client whose subscription broke.
  if (times === 0 && subscription) throw Object.assign(new Error(uri), { told: "missed" });
  return times === 1 ? undefined : `${uri} was not told`;
}

for (let round = 1; Date.now() < end; round += 1) {
  const text = `typescript-${era}-${round}`;
  await act("echo", () => call("echo", { text }, text));
  await act("ask", () => call("ask", { text }, text));
  await act("steps", () => call("steps", { count: 4, text }, text));
  await act("cut", () => call("cut", { text }, text));
  await act("order", () => call("order", { key: text }, text));
  await act("subscribe", () => watch(`counted://${text}`));
}
await client.close();
