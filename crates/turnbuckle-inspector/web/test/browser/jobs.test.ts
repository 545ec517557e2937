// The jobs of the page from start to end, on the mock.

import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startMock } from "../mock/server.ts";
import { startBrowser } from "../program.ts";
import { type Opened, open } from "./start.ts";

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

const item = (name: string) => page.locator(".items .item", { hasText: name }).first();
const text = (selector: string) => page.locator(selector).first().textContent();
const lastSent = () => opened.mock.timeline.findLast(({ entry }) => entry.kind === "sent")?.text;

async function callWith(name: string, value: string): Promise<void> {
  await item(name).click();
  await page.locator(".field textarea").first().fill(value);
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".run-status .tag-ok");
}

describe("tools", () => {
  it("calls a tool, and calls it again with one value changed", async () => {
    await callWith("echo", "first");
    await page.locator(".field textarea").first().fill("second");
    await page.keyboard.press("Control+Enter");
    await page.locator(".block-text", { hasText: "second" }).waitFor();
    expect(await page.locator(".runs option").count()).toBeGreaterThan(1);
  });

  it("sends numbers, duplicate names and escapes as they were typed", async () => {
    await item("echo").click();
    await page.locator("[data-tab=json]").first().click();
    const args = '{"message":"caf\\u00e9","count":9007199254740993,"count":1E400}';
    await page.locator(".editor textarea").fill(args);
    await page.keyboard.press("Control+Enter");
    await page.waitForSelector(".run-status .tag-ok");
    expect(lastSent()).toContain(`"arguments":${args}`);
    await page.locator("[data-tab=form]").click();
    expect(await page.locator("#field-count").inputValue()).toBe("1E400");
    expect(await text(".field-remark")).toContain("twice");
  });

  it("shows numbers, duplicate names and escapes as they came", async () => {
    await callWith("search_orders", "A-1");
    await page.locator(".block-tree .tree-line", { hasText: '"ok": true' }).waitFor();
    const lines = await page.locator(".block-tree .tree-line").allTextContents();
    const shown = lines.map((line) => line.replace(/\s+/g, "")).join("\n");
    for (const part of ["9007199254740993", "1E400", "1.10", '"caf\\u00e9\\ud83d\\ude00"']) {
      expect(shown).toContain(part);
    }
    expect(shown.match(/"id"twice/g)).toHaveLength(2);
  });

  it("refuses what the schema refuses, and sends it anyway", async () => {
    await item("search_orders").click();
    await page.waitForSelector(".field");
    await page.keyboard.press("Control+Enter");
    expect(await text(".refusal-title")).toContain("Not sent");
    await page.locator(".button-danger", { hasText: "Send anyway" }).click();
    await page.waitForSelector(".run-status .tag-ok");
    expect(lastSent()).toContain('"arguments":{}');
  });

  it("asks before a destructive tool is called", async () => {
    await item("delete_customer").click();
    await page.locator(".field input").first().fill("7");
    await page.keyboard.press("Control+Enter");
    await page.waitForSelector(".confirm");
    expect(lastSent()).not.toContain("delete_customer");
    await page.locator(".confirm .button-danger").click();
    await page.waitForSelector(".run-status .tag-ok");
    expect(lastSent()).toContain('"arguments":{\n  "id": 7\n}');
  });

  it("shows a failed tool as a failure, and progress while it works", async () => {
    await item("fail").click();
    await page.waitForSelector(".item-head");
    await page.keyboard.press("Control+Enter");
    await page.waitForSelector(".run-status .tag-error");
    await item("slow_report").click();
    await page.locator("h2", { hasText: "slow_report" }).waitFor();
    await page.keyboard.press("Control+Enter");
    await page.locator(".related progress").waitFor();
    await page.locator(".run-status button", { hasText: "Cancel" }).click();
    await page.locator(".run-status .tag-warning", { hasText: "cancelled" }).waitFor();
  });

  it("shows scripts and hidden characters of a server as text", async () => {
    await item("hostile").click();
    await page.locator("h2", { hasText: "hostile" }).waitFor();
    await page.keyboard.press("Control+Enter");
    await page.waitForSelector(".block-text");
    expect(await text(".block-text")).toContain("<img src=x onerror");
    const labels = await page
      .locator(".block-text .mark")
      .evaluateAll((marks) => marks.map((mark) => mark.getAttribute("data-label")));
    expect(labels).toEqual(["RLO", "PDF", "ZWSP", "ESC[1;31m", "ESC[0m"]);
    expect(await page.title()).toBe("shop · turnbuckle inspect");
  });
});

describe("other jobs", () => {
  it("reads a resource with one click, and subscribes with one more", async () => {
    await page.keyboard.press("2");
    await item("shop://orders/open").click();
    await page.waitForSelector(".block-text");
    await page.locator(".action-row button", { hasText: "Subscribe" }).click();
    await page.locator('.action-row [aria-pressed="true"]').waitFor();
    expect(opened.mock.state.sessions[0]?.subscriptions).toContain("shop://orders/open");
  });

  it("shows Markdown without its HTML, its images and its scripts", async () => {
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).hostname));
    await page.keyboard.press("2");
    await item("shop://help/returns").click();
    await page.waitForSelector(".markdown table");
    expect(await page.locator(".markdown ol li").count()).toBe(2);
    expect(await text(".markdown")).toContain('<img src=x onerror="');
    expect(await page.locator(".markdown img").count()).toBe(0);
    const links = page.locator(".markdown a");
    expect(await links.evaluateAll((all) => all.map((link) => link.getAttribute("href")))).toEqual([
      "https://shop.example/form",
    ]);
    expect(new Set(asked)).toEqual(new Set(["127.0.0.1"]));
    await page.locator(".block-action").click();
    expect(await text(".block-text")).toContain("# Returns");
  });

  it("fills in a prompt with a completed value", async () => {
    await page.keyboard.press("4");
    await item("write_reminder").click();
    await page.locator(".completed input").first().click();
    await page.keyboard.type("gra");
    await page.locator(".completed-list [role=option]", { hasText: "Grace" }).click();
    await page.keyboard.press("Control+Enter");
    await page.waitForSelector(".role-assistant");
    expect(lastSent()).toContain('"customer": "Grace Example"');
  });

  it("answers a question beside the call that waits for it", async () => {
    await item("ask_name").click();
    await page.locator("h2", { hasText: "ask_name" }).waitFor();
    await page.keyboard.press("Control+Enter");
    await page.locator(".question button", { hasText: "Answer" }).click();
    expect(await text(".question .refusal")).toContain("/name");
    await page.locator(".question textarea").fill("Ada");
    await page.locator(".question button", { hasText: "Answer" }).click();
    await page.waitForSelector(".run-status .tag-ok");
    expect(await page.locator(".question").count()).toBe(0);
  });

  it("names the step at which a connection failed, and restarts with one key", async () => {
    await page.locator(".server-head", { hasText: "billing" }).click();
    expect(await text(".step-failed")).toContain("TLS handshake");
    await page.locator(".server-head", { hasText: "notes" }).click();
    expect(await text(".stderr")).toContain("KeyError");
    await page.keyboard.press("r");
    await page.locator(".connection").waitFor({ state: "detached" });
    expect(opened.mock.state.sessions[3]?.connections).toBe(2);
  });

  it("filters the wire, and says what it does not understand", async () => {
    await page.locator(".wire-filter input").fill("kind:http nothing:x");
    await page.locator(".wire-fault", { hasText: "nothing:x" }).waitFor();
    await page.locator(".wire-filter input").fill("kind:http");
    await page.locator(".entry.kind-http").first().click();
    expect(await text(".http-line")).toContain("POST /mcp");
  });

  it("opens an item from the palette", async () => {
    await page.keyboard.press("Control+K");
    await page.keyboard.type("delete_refund");
    await page.locator(".palette-line", { hasText: "delete_refund" }).first().waitFor();
    await page.keyboard.press("Enter");
    await page.locator(".item-head h2", { hasText: "delete_refund" }).waitFor();
  });
});

describe("the program", () => {
  it("may go away and come back: the page says so, and goes on", async () => {
    await callWith("echo", "kept while the program is away");
    const port = Number(new URL(opened.url).port);
    await opened.stop();
    await page.waitForSelector(".banner");
    expect(await page.locator(".field textarea").first().inputValue()).toContain("kept while");
    const again = await startMock(port);
    await page.locator(".banner").waitFor({ state: "detached" });
    opened.faults.length = 0;
    await again.close();
  });

  it("asks for a new address when the login is refused", async () => {
    await page.route("**/api/state", (route) => route.fulfill({ status: 401, body: "" }));
    await page.reload();
    expect(await text(".empty-title")).toContain("new address");
    opened.faults.length = 0;
  });
});

describe("long lists", () => {
  it("reach the last of a million items", async () => {
    await page.route("**/api/sessions/s1/items/tools?**", async (route) => {
      const query = new URL(route.request().url()).searchParams;
      const from = Number(query.get("from"));
      const count = Math.min(Number(query.get("count")), 1_000_000 - from);
      const rows = Array.from({ length: count }, (_, at) => ({
        key: `k${from + at}`,
        name: `tool_${from + at}`,
        title: null,
        description: "One of many.",
        hints: [],
        fault: null,
      }));
      const json = {
        total: 1_000_000,
        matching: 1_000_000,
        from,
        rows,
        isLoading: false,
        error: null,
      };
      await route.fulfill({ json });
    });
    await page.reload();
    await page.waitForSelector(".item");
    await page.locator(".items").focus();
    await page.keyboard.press("End");
    await page.locator(".item", { hasText: "tool_999999" }).waitFor();
    expect(await page.locator(".item").count()).toBeLessThan(60);
  });
});

describe("the place", () => {
  it("is there again after a reload", async () => {
    await callWith("echo", "typed before the reload");
    await page.locator(".wire-filter input").fill("kind:sent");
    await page.evaluate(() => dispatchEvent(new Event("pagehide")));
    await page.waitForFunction(async () => {
      const state = await (await fetch("/api/state")).json();
      return String(state.place).includes("kind:sent");
    });
    await page.reload();
    await page.waitForSelector(".run-status .tag-ok");
    expect(await page.locator(".field textarea").first().inputValue()).toBe(
      "typed before the reload",
    );
    expect(await page.locator(".wire-filter input").inputValue()).toBe("kind:sent");
  });

  it("is reached with the keyboard alone", async () => {
    await page.keyboard.press("/");
    await page.keyboard.type("echo");
    await page.locator(".count", { hasText: "1 of" }).first().waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".field");
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
  });
});
