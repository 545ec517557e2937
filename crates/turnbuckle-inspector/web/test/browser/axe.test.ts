// Accessibility of every pane, in light, dark and narrow.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { axeFindings } from "../measure.ts";
import { startBrowser } from "../program.ts";
import { open } from "./start.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

const openItem = (name: string) => async (page: Page) => {
  await page.locator(".items .item", { hasText: name }).first().click();
  await page.waitForSelector(".item-head");
};

/** The panes, with the steps that lead to each. */
const PANES: Record<string, (page: Page) => Promise<unknown>> = {
  form: openItem("search_orders"),
  result: async (page) => {
    await page.locator(".field-value").nth(0).click();
    await page.keyboard.press("Control+Enter");
    await page.waitForSelector(".block-tree .tree-line", { state: "attached" });
  },
  definition: (page) => page.locator("[data-tab=definition]").dispatchEvent("click"),
  tree: (page) => page.locator("[data-tab=tree]").dispatchEvent("click"),
  raw: (page) => page.locator("[data-tab=raw]").dispatchEvent("click"),
  server: (page) => page.keyboard.press("7"),
  findings: async (page) => {
    await page.keyboard.press("8");
    await page.locator(".empty .button-primary").click();
    await page.waitForSelector(".finding");
  },
  failed: (page) => page.locator(".server-head", { hasText: "billing" }).dispatchEvent("click"),
  ended: (page) => page.locator(".server-head", { hasText: "notes" }).dispatchEvent("click"),
  palette: async (page) => {
    await page.keyboard.press("Control+K");
    await page.waitForSelector(".palette-line");
  },
  connect: async (page) => {
    await page.keyboard.press("Escape");
    await page.keyboard.press("C");
    await page.waitForSelector(".connect-form");
  },
  request: async (page) => {
    await page.keyboard.press("Escape");
    await page.locator(".server-head", { hasText: "shop" }).dispatchEvent("click");
    await page.keyboard.press("s");
    await page.waitForSelector(".request-form");
  },
  keys: async (page) => {
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.waitForSelector(".keys-body");
  },
};

describe.each([
  { look: "light", width: 1360, scheme: "light" as const },
  { look: "dark", width: 1360, scheme: "dark" as const },
  { look: "narrow", width: 360, scheme: "light" as const },
])("$look", ({ width, scheme }) => {
  it("has no findings in any pane", async () => {
    const { page, faults, close } = await open(browser, { width, scheme });
    if (width < 760) {
      await page.keyboard.press("1");
    }
    await page.waitForSelector(".item");
    const found: Record<string, string[]> = { list: await axeFindings(page) };
    for (const [name, go] of Object.entries(PANES)) {
      await go(page);
      await page.evaluate(() => new Promise(requestAnimationFrame));
      found[name] = await axeFindings(page);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect([name, overflow]).toEqual([name, 0]);
    }
    const clean = Object.fromEntries(Object.keys(found).map((name) => [name, []]));
    expect(found).toEqual(clean);
    expect(faults).toEqual([]);
    await close();
  });
});
