// Resources, prompts, questions, connections, the wire, the palette and the keyboard.

import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startBrowser } from "../program.ts";
import { call, newestEntry, type Opened, open, openItem, waitForState } from "./start.ts";

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
const answered = (part: string) => page.locator(".block-text", { hasText: part }).waitFor();

describe("resources", () => {
  it("are read when they are opened, and followed", async () => {
    await page.keyboard.press("2");
    await page.locator(".item-head h2", { hasText: "shop://orders/today" }).waitFor();
    await answered('"version":1');
    await page.locator(".action-row button", { hasText: "Subscribe" }).click();
    await page.locator('.action-row [aria-pressed="true"]').waitFor();
    await page.keyboard.press("1");
    await openItem(page, "change");
    await call(page);
    const { text: update } = await newestEntry(page, "method:notifications/resources/updated");
    expect(update).toContain("shop://orders/today");
  });

  it("of templates have their values encoded in the URI", async () => {
    await page.keyboard.press("3");
    await page.locator(".item-head h2", { hasText: "shop://customers" }).waitFor();
    await page.locator("#field-name").fill("Ada & Söhne");
    await call(page);
    const { text: sent } = await newestEntry(page, "kind:sent method:resources/read");
    expect(sent).toContain("shop://customers/Ada%20%26%20S%C3%B6hne/orders");
  });

  it("in Markdown show no HTML, no image and no script", async () => {
    const hosts = new Set<string>();
    page.on("request", (request) => hosts.add(new URL(request.url()).hostname));
    await page.keyboard.press("2");
    await openItem(page, "shop://help/returns");
    await page.waitForSelector(".markdown table");
    expect(await text(".markdown")).toContain('<img src=x onerror="');
    expect(await page.locator(".markdown img").count()).toBe(0);
    const links = page.locator(".markdown a");
    expect(await links.evaluateAll((all) => all.map((link) => link.getAttribute("href")))).toEqual([
      "https://shop.example/form",
    ]);
    expect([...hosts]).toEqual(["127.0.0.1"]);
    await page.locator(".block-action").click();
    await answered("# Returns");
  });
});

describe("prompts", () => {
  it("are filled in with a completed value", async () => {
    await page.keyboard.press("4");
    await page.locator(".completed input").first().click();
    await page.keyboard.type("gra");
    await page.locator(".completed-list [role=option]", { hasText: "Grace" }).click();
    await call(page);
    await page.waitForSelector(".role-assistant");
    const { text: sent } = await newestEntry(page, "kind:sent method:prompts/get");
    expect(sent).toContain("Grace Example");
  });
});

describe("questions", () => {
  it("for values are refused until they fit, then sent", async () => {
    await openItem(page, "ask_form");
    await page.keyboard.press("Control+Enter");
    await page.locator(".question button", { hasText: "Answer" }).click();
    await page.locator(".question .refusal", { hasText: "name" }).waitFor();
    await page.locator(".question #q-q1-name").fill("Ada");
    await page.locator(".question button", { hasText: "Answer" }).click();
    await answered("Ada");
    expect(await page.locator(".question").count()).toBe(0);
  });

  it("to visit a page show its host, and open nothing by themselves", async () => {
    await openItem(page, "ask_url");
    await page.keyboard.press("Control+Enter");
    await page.locator(".question .host", { hasText: "shop.example" }).waitFor();
    expect(page.context().pages()).toHaveLength(1);
    const link = page.locator(".question a");
    expect(await link.getAttribute("href")).toBe("https://shop.example/pay?order=1107");
    expect(await link.getAttribute("rel")).toContain("noopener");
    await page.locator(".question button", { hasText: "Agree" }).click();
    await answered("accept");
  });

  it("for a model and for roots are answered in the inbox", async () => {
    await openItem(page, "ask_model");
    await page.keyboard.press("Control+Enter");
    await page.locator(".question-params", { hasText: "Name a colour." }).waitFor();
    const answer = '{"role":"assistant","content":{"type":"text","text":"green"},"model":"me"}';
    await page.locator(".question .editor textarea").fill(answer);
    await page.locator(".question button", { hasText: "Answer" }).click();
    await answered("green");
    await openItem(page, "ask_roots");
    await page.keyboard.press("Control+Enter");
    await page.locator(".rail-inbox .badge", { hasText: "1" }).waitFor();
    await page.locator(".rail-inbox").click();
    await page
      .locator(".pane-work .editor textarea")
      .fill('{"roots":[{"uri":"file:///srv/shop"}]}');
    await page.locator(".question button", { hasText: "Answer" }).click();
    await page.locator(".rail-inbox .badge").waitFor({ state: "detached" });
    await page.keyboard.press("1");
    await answered("file:///srv/shop");
  });
});

describe("connections", () => {
  it("that fail name the step, and the reasons", async () => {
    await page.keyboard.press("c");
    await page.locator("#connect-url").fill("http://127.0.0.1:9/mcp");
    await page.keyboard.press("Enter");
    await page.locator(".step-failed", { hasText: "TCP" }).waitFor();
    await page.locator(".chain-first").waitFor();
    await page.locator(".server-head", { hasText: "shop" }).click();
    await page.locator(".items .item", { hasText: "echo" }).waitFor();
  });

  it("show what the server is, and send any request", async () => {
    await page.keyboard.press("7");
    await page.locator(".facts", { hasText: "Amounts are in cents." }).waitFor();
    await page.locator('select[aria-label="Log level"]').selectOption("warning");
    await waitForState(page, ({ sessions }) => sessions[0]?.logLevel === "warning");
    await page.keyboard.press("Escape");
    await page.keyboard.press("s");
    await page.locator("#request-method").fill("no/such");
    await page.keyboard.press("Enter");
    await page.locator(".wire-entry .tag-error").waitFor();
    const { text: refusal } = await newestEntry(page, "kind:received status:error");
    expect(refusal).toContain("-32601");
  });
});

describe("the wire", () => {
  it("is filtered, and says what it does not understand", async () => {
    await page.locator(".wire-filter input").fill("kind:sent nothing:x");
    await page.locator(".wire-fault", { hasText: "nothing:x" }).waitFor();
    await page.locator(".wire-filter input").fill("kind:sent method:initialize");
    await page.locator(".wire-head .count", { hasText: "1 of" }).waitFor();
    await page.locator(".entry.kind-sent").click();
    await page.locator(".wire-entry .tree-line", { hasText: '"initialize"' }).waitFor();
  });
});

describe("the keyboard", () => {
  it("reaches every pane, opens items, and finds them in the palette", async () => {
    await page.keyboard.press("/");
    await page.keyboard.type("echo");
    await page.locator(".count", { hasText: "1 of" }).first().waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.locator(".item-head h2", { hasText: "echo" }).waitFor();
    const panes: (string | null)[] = [];
    for (let step = 0; step < 4; step += 1) {
      await page.keyboard.press("F6");
      panes.push(
        await page.evaluate(
          () => document.activeElement?.closest("[data-pane]")?.getAttribute("data-pane") ?? null,
        ),
      );
    }
    expect([...panes].sort()).toEqual(["list", "rail", "wire", "work"]);
    await page.keyboard.press("Control+K");
    await page.keyboard.type("delete_refund");
    await page.locator(".palette-line", { hasText: "delete_refund" }).first().waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".item-head h2", { hasText: "delete_refund" }).waitFor();
  });
});
