// Times of the page on the mock. A busy machine makes every wait longer, so the limits are on the
// time of the processor that the page needs; the waits and the longest tasks are printed.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBrowser } from "../program.ts";
import { open } from "./start.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

type Figures = { waited: number; longestTask: number; processor: number };

/** Runs an action in the page, waits for an element, and returns the milliseconds. */
async function measure(page: Page, action: () => void, wanted: string): Promise<Figures> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const used = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return 1000 * (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0);
  };
  const before = await used();
  const [waited, longestTask] = await page.evaluate(
    async ([code, selector]) => {
      let longest = 0;
      const tasks = new PerformanceObserver((list) => {
        longest = Math.max(longest, ...list.getEntries().map((entry) => entry.duration));
      });
      tasks.observe({ entryTypes: ["longtask"] });
      const start = performance.now();
      const shown = new Promise<void>((done) => {
        const look = () => document.querySelector(selector as string) !== null && done();
        new MutationObserver(look).observe(document, {
          childList: true,
          subtree: true,
          attributes: true,
        });
      });
      new Function(`(${code})()`)();
      await shown;
      await new Promise(requestAnimationFrame);
      const end = performance.now();
      await new Promise((done) => setTimeout(done, 100));
      tasks.disconnect();
      return [end - start, longest] as const;
    },
    [action.toString(), wanted],
  );
  const processor = (await used()) - before;
  await session.detach();
  const round = Math.round;
  return { waited: round(waited), longestTask: round(longestTask), processor: round(processor) };
}

describe("speed", () => {
  it("shows a long list, big results and many blocks without a long task", async () => {
    const { page, close } = await open(browser);
    await page.waitForSelector(".item");
    const figures: Record<string, Figures> = {};
    figures["1,000 tools"] = await measure(
      page,
      () => {
        const heads = [...document.querySelectorAll<HTMLElement>(".server-head")];
        heads.find((head) => head.textContent?.includes("catalogue"))?.click();
      },
      '[aria-setsize="1000"]',
    );
    figures["a key in the filter"] = await measure(
      page,
      () => {
        const input = document.querySelector<HTMLInputElement>("[data-filter]");
        if (input) {
          input.value = "refund";
          input.dispatchEvent(new Event("input", { bubbles: true }));
        }
      },
      '[aria-setsize="143"]',
    );
    await page.locator(".server-head", { hasText: "shop" }).click();
    for (const [name, selector] of [
      ["many_blocks", ".blocks .block:nth-child(40)"],
      ["big_result", ".block-tree .tree-line:nth-child(2)"],
    ] as const) {
      await page.locator(".items .item", { hasText: name }).click();
      await page.locator("h2", { hasText: name }).waitFor();
      figures[name] = await measure(
        page,
        () => document.querySelector<HTMLElement>(".action-row .button-primary")?.click(),
        selector,
      );
    }
    console.table(figures);
    for (const [name, { processor }] of Object.entries(figures)) {
      expect([name, processor < 250]).toEqual([name, true]);
    }
    await close();
  });

  it("loads in three requests, none to another host", async () => {
    const { page, url, close } = await open(browser);
    const hosts: string[] = [];
    const files: string[] = [];
    page.on("request", (request) => {
      const address = new URL(request.url());
      if (address.protocol !== "data:") {
        hosts.push(address.origin);
        if (!address.pathname.startsWith("/api/")) {
          files.push(address.pathname);
        }
      }
    });
    await page.reload();
    await page.waitForSelector(".item");
    expect(new Set(hosts)).toEqual(new Set([new URL(url).origin]));
    expect(files.sort()).toEqual(["/", "/inspector.css", "/inspector.js"]);
    await close();
  });
});
