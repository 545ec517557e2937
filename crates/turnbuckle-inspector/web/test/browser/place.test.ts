// Nothing is lost: not by a reload, not when the server, the browser or the connection ends.

import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { descendants, hasArgument } from "../measure.ts";
import { startBrowser, testServer } from "../program.ts";
import { call, type Opened, open, openItem, openPage, waitForState } from "./start.ts";

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
afterEach(() => opened.close());

/** Opens a tool, types, calls it, types again without a call, and filters the wire. */
async function work(): Promise<void> {
  await openItem(page, "echo");
  await page.locator("#field-message").fill("called");
  await call(page);
  await page.locator("#field-message").fill("typed, not called");
  await page.locator(".wire-filter input").fill("kind:sent");
  await waitForState(page, ({ place }) => place?.includes("kind:sent") === true);
}

async function expectWork(where: Page): Promise<void> {
  await where.locator(".item-head h2", { hasText: "echo" }).waitFor();
  await where.waitForSelector(".run-status .tag-ok");
  await where.locator(".block-text", { hasText: "called" }).waitFor();
  expect(await where.locator("#field-message").inputValue()).toBe("typed, not called");
  expect(await where.locator(".wire-filter input").inputValue()).toBe("kind:sent");
}

describe("the place is there again", () => {
  it("after a reload", async () => {
    await work();
    await page.reload();
    await expectWork(page);
  });

  it("after kill -9 of the server, whose exit is told, and which one key restarts", async () => {
    await work();
    const [, main = ""] = testServer();
    const pid = descendants(opened.program.pid).find((one) => hasArgument(one, main));
    if (pid === undefined) {
      throw new Error("the server does not run");
    }
    process.kill(pid, "SIGKILL");
    await page.waitForSelector(".connection");
    await page.locator(".stderr", { hasText: "shop is ready" }).waitFor();
    await expectWork(page);
    await page.locator("body").click({ position: { x: 5, y: 300 } });
    await page.keyboard.press("r");
    await page.waitForSelector(".connection", { state: "detached" });
    await expectWork(page);
    await page.locator("#field-message").fill("on the new connection");
    await call(page);
    await page.locator(".block-text", { hasText: "on the new connection" }).waitFor();
  });

  it("after a crash of the server during a call, which fails", async () => {
    await openItem(page, "crash");
    await call(page, ".tag-error");
    await page.locator(".chain", { hasText: "Exit code 3" }).waitFor();
    await page.locator(".stderr", { hasText: "KeyError" }).waitFor();
    await page.locator(".item-head h2", { hasText: "crash" }).waitFor();
  });

  it("after kill -9 of the browser, at a new address", async () => {
    await work();
    const address = await opened.program.newAddress();
    await page.context().close();
    const other = await startBrowser();
    const context = await other.newContext({ viewport: { width: 1360, height: 860 } });
    const again = await openPage(context, address);
    await expectWork(again.page);
    expect(again.faults).toEqual([]);
    await other.close();
  });

  it("after the connection of the page was lost", async () => {
    await work();
    await page.context().setOffline(true);
    await page.locator("#field-message").fill("typed while away");
    await page.waitForSelector(".banner");
    await page.context().setOffline(false);
    await page.waitForSelector(".banner", { state: "detached" });
    expect(await page.locator("#field-message").inputValue()).toBe("typed while away");
    await call(page);
    await page.locator(".block-text", { hasText: "typed while away" }).waitFor();
  });
});

describe("two tabs", () => {
  it("agree about sessions, calls and questions", async () => {
    await openItem(page, "ask_form");
    await waitForState(page, ({ place }) => place?.includes("ask_form") === true);
    const second = await page.context().newPage();
    second.setDefaultTimeout(10_000);
    await second.goto(new URL(page.url()).origin);
    await second.locator(".item-head h2", { hasText: "ask_form" }).waitFor();
    await page.keyboard.press("Control+Enter");
    await page.waitForSelector(".question");
    await second.waitForSelector(".question");
    await second.locator(".question #q-q1-name").fill("Ada");
    await second.locator(".question button", { hasText: "Answer" }).click();
    await page.waitForSelector(".question", { state: "detached" });
    await page.locator(".block-text", { hasText: "Ada" }).waitFor();
    await page.waitForSelector(".run-status .tag-ok");
    expect(opened.faults).toEqual([]);
  });
});

describe("the program", () => {
  it("that ended is named, and nothing that was typed is gone", async () => {
    await work();
    await opened.program.stop("SIGKILL");
    await page.waitForSelector(".banner");
    expect(await page.locator("#field-message").inputValue()).toBe("typed, not called");
  });

  it("lets nobody in without the code of the address", async () => {
    const stranger = await (await browser.newContext()).newPage();
    await stranger.goto(new URL(page.url()).origin);
    await stranger.locator(".empty-title", { hasText: "new address" }).waitFor();
    const { status, text } = await stranger.evaluate(async () => {
      const response = await fetch("/api/state");
      return { status: response.status, text: await response.text() };
    });
    expect(status).toBe(401);
    expect(text).not.toContain("shop");
    await stranger.context().close();
  });

  it("takes the code of an address once", async () => {
    const address = await opened.program.address();
    const stranger = await (await browser.newContext()).newPage();
    await stranger.goto(address);
    await stranger.locator(".empty-title", { hasText: "new address" }).waitFor();
    await stranger.context().close();
  });
});
