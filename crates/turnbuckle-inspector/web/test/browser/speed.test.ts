// The work of the page with long lists and big results. How long it takes depends on the machine, so the limit
// is on the elements that the page has at once; `npm run numbers` measures the waits.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { measure, recordTraffic } from "../measure.ts";
import { ours } from "../numbers/subjects.ts";
import { startBrowser, testServer } from "../program.ts";
import { open } from "./start.ts";

const MAX_ELEMENTS = 1000;
const MAX_FILES = 3;

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

/** Takes an action, and returns how many elements the page has once its effect is shown. */
async function countElements(page: Page, action: string, has: string): Promise<number> {
  await measure(page, action, has);
  return await page.evaluate(() => document.querySelectorAll("*").length);
}

const TYPE = `const input = document.querySelector("[data-filter]");
  input.value = "refund";
  input.dispatchEvent(new Event("input", { bubbles: true }))`;

describe("the page", () => {
  it("shows a long list, big results and many blocks with few elements", async () => {
    const { page, close } = await open(browser, ["--", ...testServer(1000)]);
    await page.waitForSelector(".items .item-name");
    const counts: Record<string, number> = {};
    await ours.leaveTools(page);
    counts["1,000 tools"] = await countElements(page, ours.clickTools, ours.hasTools(1000));
    counts["a key in the filter"] = await countElements(page, TYPE, ours.hasFiltered);
    await page.locator("[data-filter]").fill("");
    await page.waitForSelector('.item[aria-setsize="1000"]');
    for (const [tool, has] of [
      ["many_blocks", ours.hasBlocks],
      ["big_result", ours.hasJson],
    ] as const) {
      await ours.openTool(page, tool);
      counts[tool] = await countElements(page, ours.clickCall, has);
    }
    console.table(counts);
    expect(Object.entries(counts).filter(([, count]) => count > MAX_ELEMENTS)).toEqual([]);
    await close();
  });

  it(`loads in ${MAX_FILES} requests, none to another host`, async () => {
    const { page, close } = await open(browser);
    const traffic = recordTraffic(page);
    await page.reload();
    await page.waitForSelector(".items .item");
    const { requests, hosts } = await traffic.stop();
    expect({ requests, hosts }).toEqual({ requests: MAX_FILES, hosts: [] });
    await close();
  });
});
