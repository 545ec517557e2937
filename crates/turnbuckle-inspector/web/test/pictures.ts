// `npm run pictures`: the pictures of the guide, made with the program and the test server.

import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { call, type Look, open, openItem } from "./browser/start.ts";
import { REPOSITORY, startBrowser } from "./program.ts";

const MAX_BYTES = 300_000;
const SIZE = { width: 1280, height: 800 };

type Picture = { name: string; look: Look; prepare: (page: Page) => Promise<unknown> };

const PICTURES: readonly Picture[] = [
  {
    name: "inspect-tool",
    look: { ...SIZE, scheme: "light" },
    prepare: async (page) => {
      await openItem(page, "search_orders");
      await page.locator("#field-order").fill("A-2026-1107");
      await page.locator("#field-limit").fill("20");
      await call(page);
      await page.locator(".block-tree .tree-line", { hasText: "total" }).waitFor();
      await page.waitForSelector(".wire-entry .tree-line");
    },
  },
  {
    name: "inspect-question",
    look: { ...SIZE, scheme: "dark" },
    prepare: async (page) => {
      await openItem(page, "ask_form");
      await page.keyboard.press("Control+Enter");
      await page.locator(".question textarea").first().fill("Ada");
    },
  },
  {
    name: "inspect-ended",
    look: { ...SIZE, scheme: "light" },
    prepare: async (page) => {
      await openItem(page, "crash");
      await call(page, ".tag-error");
      await page.locator(".stderr", { hasText: "KeyError" }).waitFor();
    },
  },
];

const folder = join(REPOSITORY, "docs/guide/src/pictures");
mkdirSync(folder, { recursive: true });
const browser = await startBrowser();
for (const { name, look, prepare } of PICTURES) {
  const { page, close } = await open(browser, undefined, look);
  await prepare(page);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
  const path = join(folder, `${name}.png`);
  await page.screenshot({ path, animations: "disabled", caret: "hide" });
  await close();
  const { size } = statSync(path);
  console.log(`${path}: ${size} bytes`);
  if (size > MAX_BYTES) {
    throw new Error(`${path} has more than ${MAX_BYTES} bytes`);
  }
}
await browser.close();
