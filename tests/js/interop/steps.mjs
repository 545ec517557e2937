// What every client does with the demo server, and what has to come of it. One step is one column of the table.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import { pause, until, within } from "../lib/time.mjs";
import { Answers } from "./answers.mjs";

/** The revision that a client of an era agrees on with a server that speaks all of them. */
const NEWEST = { legacy: "2025-11-25", modern: "2026-07-28" };

const WATCHED = "test://watched-resource";

/** How soon a notification has to arrive, and how long to wait for one that must not, in milliseconds. */
const SOON = 5_000;
const QUIET = 300;

/** The steps by name, in the order in which they are taken on one connection. */
export const STEPS = {
  async connect(peer, { era }) {
    assert.deepEqual(await peer.negotiated(), { era, revision: NEWEST[era] });
    const { info, capabilities } = await peer.server();
    assert.ok(info.name && info.version, "the server names itself");
    for (const name of ["tools", "resources", "prompts", "completions"]) {
      assert.ok(capabilities[name], `the server declares ${name}`);
    }
  },

  async tools(peer) {
    const tools = await peer.tools();
    holds(tools.map(({ name }) => name), [
      "test_simple_text", "test_tool_with_progress", "structured_weather", "test_elicitation", "test_sampling",
      "test_list_roots", "slow_echo", "last_cancelled", "touch_watched_resource",
    ]);
    const { outputSchema } = tools.find(({ name }) => name === "structured_weather");
    holds(Object.keys(outputSchema?.properties ?? {}), ["city", "temperature", "conditions"]);
  },

  async resources(peer) {
    holds((await peer.resources()).map(({ uri }) => uri), ["test://static-text", "test://static-binary", WATCHED]);
  },

  async templates(peer) {
    holds((await peer.templates()).map(({ uriTemplate }) => uriTemplate), ["test://template/{id}/data"]);
  },

  async prompts(peer) {
    const prompts = await peer.prompts();
    holds(prompts.map(({ name }) => name), ["test_simple_prompt", "test_prompt_with_arguments"]);
    const { arguments: args } = prompts.find(({ name }) => name === "test_prompt_with_arguments");
    assert.deepEqual(args?.map(({ name }) => name), ["arg1", "arg2"]);
  },

  async call(peer) {
    const result = await peer.call("test_simple_text", {});
    assert.equal(textOf(result), "This is a simple text response for testing.");
  },

  async progress(peer) {
    const values = [];
    const result = await peer.call("test_tool_with_progress", {}, { onprogress: ({ progress }) => values.push(progress) });
    assert.ok(!result.isError, textOf(result));
    assert.ok(values.length >= 3, `3 progress notifications at least, these came: ${values}`);
    assert.ok(values.every((value, at) => at === 0 || value > values[at - 1]), `rising values, these came: ${values}`);
  },

  async structured(peer) {
    const result = await peer.call("structured_weather", { city: "Oslo" });
    const { city, temperature, conditions } = result.structuredContent;
    assert.equal(city, "Oslo");
    assert.deepEqual([typeof temperature, typeof conditions], ["number", "string"]);
    assert.deepEqual(JSON.parse(textOf(result)), result.structuredContent, "the text says the same");
  },

  async read(peer) {
    const { contents } = await peer.read("test://static-text");
    assert.equal(contents.length, 1);
    assert.equal(contents[0].uri, "test://static-text");
    assert.ok(contents[0].text.length > 0);
  },

  async watch(peer) {
    const seen = [];
    const stop = await peer.watch(WATCHED, (uri) => seen.push(uri));
    await peer.call("touch_watched_resource", {});
    await until(SOON, "the update", () => seen.length > 0);
    assert.equal(seen[0], WATCHED);
    const { contents } = await peer.read(WATCHED);
    assert.equal(contents[0].uri, WATCHED);

    await stop();
    seen.length = 0;
    await peer.call("touch_watched_resource", {});
    await pause(QUIET);
    assert.deepEqual(seen, [], "nothing comes after the end of the subscription");
  },

  async complete(peer) {
    const { completion } = await peer.complete({
      ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
      argument: { name: "arg1", value: "par" },
    });
    assert.ok(completion.values.length > 0, "there is a suggestion");
    const fitting = completion.values.every((value) => value.toLowerCase().startsWith("par"));
    assert.ok(fitting, `suggestions that begin so, these came: ${completion.values}`);
  },

  async elicit(peer) {
    const message = `who is it? ${randomUUID()}`;
    const result = await peer.call("test_elicitation", { message });
    assert.deepEqual(peer.answers.elicitations, [message]);
    assert.match(textOf(result), new RegExp(Answers.NAME));
  },

  async sample(peer) {
    const prompt = `say something ${randomUUID()}`;
    const result = await peer.call("test_sampling", { prompt });
    assert.deepEqual(peer.answers.prompts, [prompt]);
    assert.match(textOf(result), new RegExp(Answers.REPLY));
  },

  async roots(peer) {
    const result = await peer.call("test_list_roots", {});
    assert.equal(peer.answers.rootsAsked, 1);
    for (const { uri } of Answers.ROOTS) assert.ok(textOf(result).includes(uri), `${uri} in ${textOf(result)}`);
  },

  async cancel(peer) {
    const cancelled = async () => textOf(await peer.call("last_cancelled", {})).includes("slow_echo");
    assert.equal(await cancelled(), false, "nothing was cancelled yet");

    const abort = new AbortController();
    const call = peer.call("slow_echo", { seconds: 30, text: "too late" }, { signal: abort.signal });
    setTimeout(() => abort.abort(new Error("enough")), 200);
    await assert.rejects(within(SOON, "the end of the call", call), /enough/);

    assert.equal(textOf(await peer.call("test_simple_text", {})), "This is a simple text response for testing.");
    await until(SOON, "slow_echo in last_cancelled", cancelled);
  },

  /** Always the last: nothing can follow it. */
  async close(peer, { transport }) {
    const begun = Date.now();
    await peer.close();
    // A client that started the server closes its input, waits for 2 s, and only then uses a signal.
    if (transport === "stdio") assert.ok(Date.now() - begun < 1_500, "the server ends when its input does");
  },
};

/** The text blocks of a tool's result. */
const textOf = ({ content }) => content.filter(({ type }) => type === "text").map(({ text }) => text).join("\n");

/** Asserts that a list has each wanted entry, and none twice: a cursor that leads back shows here. */
function holds(entries, wanted) {
  const missing = wanted.filter((entry) => !entries.includes(entry));
  assert.deepEqual(missing, [], "missing entries");
  assert.equal(new Set(entries).size, entries.length, "no entry twice");
}
