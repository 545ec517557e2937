// What a client does with a fixture, and what has to come of it. The steps are those that `peers.json` describes; each
// gets the connected client (see `../interop/peer.mjs`), the step's own entry there, and the peer's.

import assert from "node:assert/strict";

import { Answers } from "../interop/answers.mjs";
import { until, within } from "../lib/time.mjs";

/** How soon what was asked for has to come, in milliseconds. */
const SOON = 5_000;

/** The field that a list's entries are known by. */
const KEY = { tools: "name", resources: "uri", templates: "uriTemplate", prompts: "name" };

export const STEPS = {
  async lists(client, lists) {
    for (const [list, wanted] of Object.entries(lists)) {
      const names = (await client[list]()).map((entry) => entry[KEY[list]]);
      assert.deepEqual(wanted.filter((name) => !names.includes(name)), [], `missing ${list}`);
    }
  },

  async structured(client, { tool, arguments: args, structured }) {
    const { outputSchema } = (await client.tools()).find(({ name }) => name === tool);
    assert.deepEqual(Object.keys(outputSchema?.properties ?? {}).sort(), Object.keys(structured).sort());
    const result = await succeed(client, tool, args);
    assert.deepEqual(result.structuredContent, structured);
  },

  async progress(client, { tool, arguments: args, reports }) {
    const values = [];
    await succeed(client, tool, args, { onprogress: ({ progress }) => values.push(progress) });
    // These clients lose a report that arrives together with the result; it was sent all the same.
    const sent = Array.from({ length: reports }, (_, at) => at + 1);
    assert.deepEqual(values, sent.slice(0, Math.max(values.length, reports - 1)), "the reports, but for the last");
  },

  async log(client, { tool, arguments: args, says }) {
    await succeed(client, tool, args);
    await until(SOON, "the log message", () => client.logged.some(({ data }) => JSON.stringify(data).includes(says)));
  },

  async error(client, { tool, arguments: args, says }) {
    const result = await client.call(tool, args);
    assert.equal(result.isError, true);
    assert.ok(textOf(result).includes(says), textOf(result));
  },

  async read(client, { uri, says }) {
    const { contents } = await client.read(uri);
    assert.equal(contents[0].uri, uri);
    assert.ok(contents[0].text.includes(says), contents[0].text);
  },

  /** A template's resource is read like any other. */
  template: (client, step) => STEPS.read(client, step),

  async prompt(client, { name, arguments: args, says }) {
    const { messages } = await client.prompt(name, args);
    assert.equal(messages[0].content.text, says);
  },

  async completion(client, { ref, argument, values }) {
    const { completion } = await client.complete({ ref, argument });
    assert.deepEqual(completion.values, values);
  },

  async subscribe(client, { uri, tool, arguments: args }) {
    const seen = [];
    const stop = await client.watch(uri, (changed) => seen.push(changed));
    await succeed(client, tool, args);
    await until(SOON, "the update", () => seen.length > 0);
    assert.equal(seen[0], uri);
    await stop();
  },

  async list_changed(client, { list, tool, arguments: args, appears }) {
    let changes = 0;
    const stop = await client.watchList(list, () => (changes += 1));
    await succeed(client, tool, args);
    await until(SOON, "the notification", () => changes > 0);
    await stop();
    const names = (await client[list]()).map((entry) => entry[KEY[list]]);
    assert.ok(names.includes(appears), `${appears} in ${names}`);
  },

  async sampling(client, { tool, arguments: args, asks }) {
    const result = await succeed(client, tool, args);
    assert.deepEqual(client.answers.prompts, [asks]);
    assert.ok(textOf(result).includes(Answers.REPLY), textOf(result));
  },

  async form(client, { tool, arguments: args, asks, defaults }) {
    const before = client.answers.elicitations.length;
    const result = await succeed(client, tool, args);
    assert.deepEqual(client.answers.elicitations.slice(before), [asks]);
    // The text is laid out as the server likes; its words are the same.
    const told = textOf(result).replace(/\s/g, "");
    for (const field of Object.entries({ name: Answers.NAME, ...defaults })) {
      const wanted = JSON.stringify(Object.fromEntries([field])).slice(1, -1).replace(/\s/g, "");
      assert.ok(told.includes(wanted), `${wanted} in ${told}`);
    }
  },

  async url(client, { tool, arguments: args, asks }) {
    const before = client.answers.elicitations.length;
    const result = await succeed(client, tool, args);
    assert.deepEqual(client.answers.elicitations.slice(before), [asks]);
    assert.match(textOf(result), /"action":\s*"accept"/);
  },

  async roots(client, { tool, arguments: args }) {
    const result = await succeed(client, tool, args);
    for (const { uri } of Answers.ROOTS) assert.ok(textOf(result).includes(uri), `${uri} in ${textOf(result)}`);
  },

  async cancel(client, { tool, arguments: args, counter }) {
    const count = async () => (await succeed(client, counter, {})).structuredContent.count;
    const before = counter && (await count());

    const abort = new AbortController();
    const onprogress = () => abort.abort(new Error("enough"));
    const call = client.call(tool, args, { signal: abort.signal, onprogress });
    await assert.rejects(within(SOON, "the end of the call", call), /enough/);

    if (counter) await until(SOON, "the cancelled call in the count", async () => (await count()) === before + 1);
    await client.tools();
  },
};

/** Calls a tool that has to succeed. */
async function succeed(client, tool, args, options) {
  const result = await client.call(tool, args, options);
  assert.ok(!result.isError, textOf(result));
  return result;
}

/** The text blocks of a tool's result. */
const textOf = ({ content }) => content.filter(({ type }) => type === "text").map(({ text }) => text).join("\n");
