// Cursors are followed to the end, and a list without an end is noticed.

import assert from "node:assert/strict";
import { test } from "node:test";

import { everyPage } from "../interop/peer.mjs";

test("every page is fetched, the empty cursor included", async () => {
  const pages = new Map([
    [undefined, { items: [1, 2], nextCursor: "" }],
    ["", { items: [3], nextCursor: "b" }],
    ["b", { items: [4] }],
  ]);
  assert.deepEqual(await everyPage("items", async (page) => pages.get(page?.cursor)), [1, 2, 3, 4]);
});

test("a cursor that leads nowhere is an error", async () => {
  await assert.rejects(everyPage("items", async () => ({ items: [1], nextCursor: "again" })), /more than 50 pages/);
});
