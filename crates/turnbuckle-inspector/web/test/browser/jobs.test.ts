// Ten jobs from start to end, with the number of actions that each needs. An action is a click, a key
// or a filled field. The server is the demo of turnbuckle, over HTTP.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Demo, startDemo } from "../demo.ts";
import { startBrowser } from "../program.ts";
import { newestEntry, type Opened, open } from "./start.ts";

const MAX_ACTIONS = 14;

let browser: Browser;
let demo: Demo;
let opened: Opened;
let page: Page;
beforeAll(async () => {
  browser = await startBrowser();
  demo = await startDemo(0);
});
afterAll(async () => {
  await opened?.close();
  await demo.kill();
  await browser.close();
});

let actions = 0;
const press = async (key: string) => {
  actions += 1;
  await page.keyboard.press(key);
};
const click = async (selector: string, hasText: string) => {
  actions += 1;
  await page.locator(selector, { hasText }).first().click();
};
const fill = async (selector: string, value: string) => {
  actions += 1;
  await page.locator(selector).first().fill(value);
};
// The number of an earlier request; beside this list stands one of timeouts.
const earlier = (number: number) =>
  page.getByLabel("Earlier requests").locator(`option:nth-child(${number})`);
const block = (hasText: string) => page.locator(".block-text", { hasText }).first();

/** The jobs in order, each with its actions. */
const JOBS: Record<string, () => Promise<unknown>> = {
  "connect to a URL": async () => {
    actions += 1;
    opened = await open(browser, [demo.url]);
    page = opened.page;
  },
  "list the tools": () => page.locator(".item", { hasText: "test_simple_text" }).waitFor(),
  "call one with arguments": async () => {
    await click(".items .item", "structured_weather");
    await fill("#field-city", "Bern");
    await press("Control+Enter");
    await page.locator(".block-tree .tree-line", { hasText: "temperature" }).waitFor();
  },
  "call it again with one value changed": async () => {
    await fill("#field-city", "Oslo");
    await press("Control+Enter");
    await earlier(2).waitFor({ state: "attached" });
    expect((await newestEntry(page, "kind:sent method:tools/call")).text).toContain("Oslo");
  },
  "see the raw JSON": async () => {
    await page.locator(".wire-entry .tree-line", { hasText: '"structuredContent"' }).waitFor();
  },
  "read a resource": async () => {
    await click(".section", "Resources");
    await block("static text").waitFor();
  },
  "subscribe to it": async () => {
    await click(".action-row button", "Subscribe");
    await page.locator('.action-row [aria-pressed="true"]').waitFor();
  },
  "fill in a prompt": async () => {
    await click(".section", "Prompts");
    await click(".items .item", "embedded_resource");
    await fill("#field-resourceUri", "test://example-resource");
    await press("Control+Enter");
    await page.locator(".role-user", { hasText: "test://example-resource" }).waitFor();
  },
  "answer a question of the server": async () => {
    // The call that makes the server ask is counted under "call one with arguments".
    await page.locator(".section", { hasText: "Tools" }).click();
    await page.locator("[data-filter]").fill("multi_round");
    await page.locator(".items .item", { hasText: "multi_round" }).click();
    await page.locator(".item-head h2", { hasText: "multi_round" }).waitFor();
    await page.keyboard.press("Control+Enter");
    await page.waitForSelector(".question");
    await fill(".question textarea", "Ada");
    await click(".question button", "Answer");
    await page.locator(".question", { hasText: "color" }).waitFor();
  },
  "go on after the server was restarted": async () => {
    await page.locator(".question button", { hasText: "Decline" }).click();
    await page.waitForSelector(".question", { state: "detached" });
    await page.locator("[data-filter]").fill("weather");
    await page.locator(".items .item", { hasText: "structured_weather" }).click();
    await page.locator(".item-head h2", { hasText: "structured_weather" }).waitFor();
    await demo.kill();
    demo = await startDemo(demo.port);
    // Nothing has to be done: the next call finds the new server.
    await page.keyboard.press("Control+Enter");
    await earlier(3).waitFor({ state: "attached" });
    await page.waitForSelector(".run-status .tag-ok");
    expect(await page.locator("#field-city").inputValue()).toBe("Oslo");
  },
};

it(`does ten jobs in ${MAX_ACTIONS} actions`, { timeout: 60_000 }, async () => {
  const counts: Record<string, number> = {};
  for (const [name, run] of Object.entries(JOBS)) {
    const before = actions;
    await run();
    counts[name] = actions - before;
  }
  console.table(counts);
  expect(actions).toBeLessThanOrEqual(MAX_ACTIONS);
});
