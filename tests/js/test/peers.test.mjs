// The table of servers is whole: what it names is there, and what a peer can do is described.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { STEPS } from "../servers/steps.mjs";

const at = (path) => new URL(path, new URL("../", import.meta.url));
const { surfaces, peers } = JSON.parse(readFileSync(at("servers/peers.json"), "utf8"));

test("no two peers have a name in common", () => {
  const names = peers.map(({ name }) => name);
  assert.deepEqual(names, [...new Set(names)]);
});

for (const { name, surface, binding, start, can, revisions } of peers) {
  test(`${name} can be started, and its steps are described`, () => {
    assert.equal(start[0], "node");
    assert.ok(existsSync(at(start[1])), `${start[1]} is there`);
    assert.equal(start.at(-1), binding);
    assert.ok(revisions.length > 0);
    for (const [step, able] of Object.entries(can)) {
      assert.ok(STEPS[step], `there is a step ${step}`);
      assert.equal(able, surfaces[surface][step] !== undefined, `${step} is described where it can be done`);
    }
    const silent = Object.keys(surfaces[surface]).filter((step) => step !== "lists" && !(step in can));
    assert.deepEqual(silent, [], "described but not said to be possible");
  });
}
