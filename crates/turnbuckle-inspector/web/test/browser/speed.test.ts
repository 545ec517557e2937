// The work of the page with long lists and big results. A busy machine makes every wait longer, so the
// limits are on the time of the processor that the page needs; `npm run numbers` measures the waits.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { measure, recordTraffic, type Timed } from "../measure.ts";
import { ours } from "../numbers/subjects.ts";
import { startBrowser, testServer } from "../program.ts";
import { open } from "./start.ts";

const MAX_PROCESSOR_MS = 250;
const MAX_FILES = 3;

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

type Figures = Timed & { processor: number };

/** Measures an action with the time of the processor that the page's thread needs. */
async function measureWork(page: Page, action: string, has: string): Promise<Figures> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const used = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return 1000 * (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0);
  };
  const before = await used();
  const { ms, longestTask } = await measure(page, action, has);
  const processor = (await used()) - before;
  await session.detach();
  return {
    ms: Math.round(ms),
    longestTask: Math.round(longestTask),
    processor: Math.round(processor),
  };
}

const TYPE = `const input = document.querySelector("[data-filter]");
  input.value = "refund";
  input.dispatchEvent(new Event("input", { bubbles: true }))`;

describe("the page", () => {
  it("shows a long list, big results and many blocks with little work", async () => {
    const { page, close } = await open(browser, ["--", ...testServer(1000)]);
    await page.waitForSelector(".items .item-name");
    const figures: Record<string, Figures> = {};
    await ours.leaveTools(page);
    figures["1,000 tools"] = await measureWork(page, ours.clickTools, ours.hasTools(1000));
    figures["a key in the filter"] = await measureWork(page, TYPE, ours.hasFiltered);
    await page.locator("[data-filter]").fill("");
    await page.waitForSelector('.item[aria-setsize="1000"]');
    for (const [tool, has] of [
      ["many_blocks", ours.hasBlocks],
      ["big_result", ours.hasJson],
    ] as const) {
      await ours.openTool(page, tool);
      figures[tool] = await measureWork(page, ours.clickCall, has);
    }
    console.table(figures);
    for (const [name, { processor }] of Object.entries(figures)) {
      expect([name, processor < MAX_PROCESSOR_MS]).toEqual([name, true]);
    }
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
