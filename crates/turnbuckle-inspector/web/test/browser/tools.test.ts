// Tools: arguments as they are typed, results as they come.

import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startBrowser } from "../program.ts";
import { EXACT } from "../server/results.ts";
import { ask, call, newestEntry, type Opened, open, openItem } from "./start.ts";

let browser: Browser;
let opened: Opened;
let page: Page;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());
beforeEach(async () => {
  opened = await open(browser);
  page = opened.page;
});
afterEach(async () => {
  expect(opened.faults).toEqual([]);
  await opened.close();
});

const text = (selector: string) => page.locator(selector).first().textContent();

describe("arguments", () => {
  it("are sent with the numbers, duplicate names and escapes that were typed", async () => {
    await openItem(page, "echo");
    await page.locator("[data-tab=json]").first().click();
    const args = '{"message":"caf\\u00e9 \\/","count":9007199254740993,"count":1E400}';
    await page.locator(".editor textarea").fill(args);
    await page.keyboard.press("Control+Enter");
    await page.locator(".button-danger", { hasText: "Send anyway" }).click();
    await page.waitForSelector(".run-status .tag-ok");
    // What the server received, what the wire shows of it, and what the page shows of its answer.
    const sent = (await newestEntry(page, "kind:sent method:tools/call")).text;
    expect(sent).toContain(`"arguments":${args}`);
    expect(await text(".block-text")).toBe(sent.trimEnd());
    await page.locator("[data-tab=form]").click();
    expect(await page.locator("#field-count").inputValue()).toBe("1E400");
    expect(await text(".field-remark")).toContain("twice");
  });

  it("that the schema refuses are sent anyway, byte for byte", async () => {
    await openItem(page, "search_orders");
    await page.keyboard.press("Control+Enter");
    await page.waitForSelector(".refusal-title");
    await page.locator(".button-danger", { hasText: "Send anyway" }).click();
    await page.waitForSelector(".run-status .tag-ok");
    const { text: sent } = await newestEntry(page, "kind:sent method:tools/call");
    expect(sent).toContain('"arguments":{}');
  });

  it("of a destructive tool are sent after a question", async () => {
    await openItem(page, "delete_customer");
    await page.locator("#field-id").fill("7");
    await page.keyboard.press("Control+Enter");
    await page.waitForSelector("[role=alertdialog]");
    await page.keyboard.press("Escape");
    await page.locator("[role=alertdialog]").waitFor({ state: "detached" });
    expect(await page.locator(".run-status").count()).toBe(0);
    await page.keyboard.press("Control+Enter");
    await page.locator(".confirm button", { hasText: "Call it" }).click();
    await page.waitForSelector(".run-status .tag-ok");
    const { text: sent } = await newestEntry(page, "kind:sent method:tools/call");
    expect(sent).toContain('"id": 7');
  });
});

describe("results", () => {
  it("show numbers, duplicate names and escapes as they came", async () => {
    await openItem(page, "exact");
    await call(page);
    await page.locator(".block-tree .tree-line", { hasText: '"ok": true' }).waitFor();
    const lines = await page.locator(".block-tree .tree-line").allTextContents();
    const shown = lines.map((line) => line.replace(/\s+/g, "")).join("\n");
    for (const part of ["9007199254740993", "1E400", "1.10", '"caf\\u00e9\\ud83d\\ude00\\/"']) {
      expect(shown).toContain(part);
    }
    expect(shown.match(/"id"twice/g)).toHaveLength(2);
    await page.locator("[data-tab=raw]").click();
    await page.waitForSelector("pre.raw");
    const raw = await text(".result-body pre.raw");
    expect(raw).toContain(EXACT);
    expect(raw).toBe((await newestEntry(page, "kind:received method:tools/call")).text);
  });

  it("of a failed tool are shown as a failure", async () => {
    await openItem(page, "fail");
    await call(page, ".tag-error");
    expect(await text(".blocks.has-failed")).toContain("database is locked");
  });

  it("come after progress, or are cancelled", async () => {
    await openItem(page, "slow");
    await page.keyboard.press("Control+Enter");
    await page.locator(".related progress").waitFor();
    await page.locator(".related-text", { hasText: "Step" }).waitFor();
    await page.locator(".run-status button", { hasText: "Cancel" }).click();
    await page.locator(".run-status .tag-warning", { hasText: "cancelled" }).waitFor();
    await newestEntry(page, "kind:sent method:notifications/cancelled");
  });

  it("show images of the server, and links to its resources", async () => {
    await openItem(page, "picture");
    await call(page);
    const image = page.locator(".block-bytes img");
    await image.waitFor();
    expect(await image.evaluate((one) => (one as HTMLImageElement).naturalWidth)).toBe(8);
    await page.locator(".button", { hasText: "Hex" }).click();
    expect(await text("pre.hex")).toContain("89 50 4e 47");
    await page.locator(".block-link .link").click();
    await page.locator(".item-head h2", { hasText: "shop://orders/today" }).waitFor();
    await page.waitForSelector(".block-text");
  });

  it("are searched, and their values copied, as they were sent", async () => {
    await openItem(page, "exact");
    await call(page);
    await page.locator("[data-tab=tree]").click();
    await page.locator(".tree-search input").fill("9007199254740993");
    await page.keyboard.press("Enter");
    await page.locator(".tree-found", { hasText: "1 of 1" }).waitFor();
    const origin = new URL(page.url()).origin;
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin });
    const line = page.locator(".result-body .tree-line", { hasText: "1E400" });
    await line.hover();
    await line.locator('[aria-label="Copy the value"]').click();
    await page.locator(".notice", { hasText: "Copied" }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("1E400");
  });
});

describe("a hostile server", () => {
  const LABELS = ["RLO", "PDF", "ZWSP", "ESC[1;31m", "ESC[0m"];

  it("shows no markup, and nothing hidden", async () => {
    await openItem(page, "hostile");
    await call(page);
    const marks = page.locator(".block-text .mark");
    await marks.first().waitFor();
    expect(
      await marks.evaluateAll((all) => all.map((mark) => mark.getAttribute("data-label"))),
    ).toEqual(LABELS);
    expect(await text(".block-text")).toContain("<img src=x onerror");
    expect(await text(".item-title")).toContain("<script>alert(1)</script>");
    for (const key of ["2", "4"]) {
      await page.keyboard.press(key);
      await page.locator(".items .item", { hasText: "<script>" }).first().click();
      await page.locator(".item-head .item-title .mark, .description .mark").first().waitFor();
    }
    expect(await page.title()).toBe("shop · turnbuckle inspect");
    expect(await page.locator(".pane img, .pane script").count()).toBe(0);
  });

  it("that prints what is no message has it shown, with its control characters marked", async () => {
    await openItem(page, "print");
    await call(page);
    await page.locator(".wire-filter input").fill("kind:noise");
    await page.locator(".entry.kind-noise", { hasText: "this line is no message" }).waitFor();
    await page.locator(".wire-filter input").fill("kind:stderr");
    await page.locator(".entry.kind-stderr .mark").first().waitFor();
    const { entries } = await ask<{ entries: { summary: string }[] }>(
      page,
      "/timeline?filter=kind%3Astderr&from=0&count=10",
    );
    expect(entries.map(({ summary }) => summary)).toContain("shop is ready");
  });
});
