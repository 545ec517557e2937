// Every pane in light, dark and narrow: accessible, and nothing beyond the edge of the window.
// `PICTURES=folder` stores a picture of each.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { axeFindings, narrowestWidth } from "../measure.ts";
import { startBrowser } from "../program.ts";
import { open, openItem } from "./start.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

const tab = (id: string) => (page: Page) =>
  page.locator(`[data-tab=${id}]`).first().dispatchEvent("click");
const run = async (page: Page) => {
  await page.locator(".action-row .button-primary").first().dispatchEvent("click");
};
const list = async (page: Page) => {
  await page.keyboard.press("Escape");
  await page.keyboard.press("1");
};
const tool = (name: string) => async (page: Page) => {
  await list(page);
  await openItem(page, name);
};
const dialog = (key: string, shown: string) => async (page: Page) => {
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.keyboard.press(key);
  await page.waitForSelector(shown);
};

/** The panes, with the steps that lead to each from the one before. */
const PANES: Record<string, (page: Page) => Promise<unknown>> = {
  list,
  form: tool("search_orders"),
  json: tab("json"),
  definition: tab("definition"),
  refusal: async (page) => {
    await tab("form")(page);
    await run(page);
    await page.waitForSelector(".refusal-title", { state: "attached" });
  },
  confirm: async (page) => {
    await tool("delete_customer")(page);
    await run(page);
    await page.waitForSelector("[role=alertdialog]", { state: "attached" });
  },
  result: async (page) => {
    await tool("exact")(page);
    await run(page);
    await page.waitForSelector(".block-tree .tree-line", { state: "attached" });
  },
  tree: tab("tree"),
  raw: tab("raw"),
  hostile: async (page) => {
    await tab("blocks")(page);
    await tool("hostile")(page);
    await run(page);
    await page.waitForSelector(".block-text .mark", { state: "attached" });
  },
  question: async (page) => {
    await tool("ask_form")(page);
    await run(page);
    await page.waitForSelector(".question", { state: "attached" });
  },
  inbox: async (page) => {
    await page.keyboard.press("9");
    await page.waitForSelector(".pane-work .question", { state: "attached" });
  },
  markdown: async (page) => {
    await page.keyboard.press("2");
    await openItem(page, "shop://help/returns");
    await page.waitForSelector(".markdown", { state: "attached" });
  },
  prompt: async (page) => {
    await page.keyboard.press("4");
    await openItem(page, "write_reminder");
    await run(page);
    await page.waitForSelector(".role-assistant", { state: "attached" });
  },
  server: async (page) => {
    await page.keyboard.press("7");
    await page.waitForSelector(".facts", { state: "attached" });
  },
  findings: async (page) => {
    await page.keyboard.press("8");
    await page.waitForSelector(".empty-title, .findings", { state: "attached" });
  },
  failed: async (page) => {
    await dialog("c", "#connect-url")(page);
    await page.locator("#connect-url").fill("http://127.0.0.1:9/mcp");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".step-failed", { state: "attached" });
  },
  ended: async (page) => {
    await page.locator(".server-head", { hasText: "shop" }).dispatchEvent("click");
    await tool("crash")(page);
    await run(page);
    await page.waitForSelector(".stderr", { state: "attached" });
  },
  servers: async (page) => {
    await page.evaluate(() => document.querySelector<HTMLElement>(".narrow-bar button")?.click());
  },
  wire: async (page) => {
    await page.keyboard.press("Escape");
    await page.keyboard.press("f");
  },
  palette: dialog("Control+K", ".palette-line"),
  connect: dialog("c", ".connect-form"),
  request: dialog("s", ".request-form"),
  keys: dialog("?", ".keys-body"),
};

describe.each([
  { look: "light", width: 1360, scheme: "light" as const },
  { look: "dark", width: 1360, scheme: "dark" as const },
  { look: "narrow", width: 360, scheme: "light" as const },
])("$look", ({ look, width, scheme }) => {
  it("has no findings in any pane", { timeout: 120_000 }, async () => {
    const { page, faults, close } = await open(browser, undefined, { width, scheme });
    const found: Record<string, unknown> = {};
    for (const [name, go] of Object.entries(PANES)) {
      await go(page);
      await page.evaluate(() => new Promise(requestAnimationFrame));
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      found[name] = { findings: await axeFindings(page), beyond };
      if (process.env.PICTURES !== undefined) {
        mkdirSync(process.env.PICTURES, { recursive: true });
        await page.screenshot({ path: join(process.env.PICTURES, `${name}-${look}.png`) });
      }
    }
    const clean = Object.keys(PANES).map((name) => [name, { findings: [], beyond: 0 }]);
    expect(found).toEqual(Object.fromEntries(clean));
    expect(faults).toEqual([]);
    await close();
  });
});

it("fits every width", async () => {
  const { page, close } = await open(browser);
  await PANES.result?.(page);
  expect(await narrowestWidth(page)).toBe(360);
  await close();
});
