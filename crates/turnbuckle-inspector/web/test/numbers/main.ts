// The numbers of the page, beside those of Inspector 2.12.0 on the same server and in the same
// browser: `npm run numbers [-- --runs 5] [-- --only turnbuckle]`. Medians of several runs.

import { parseArgs } from "node:util";
import type { Browser, Page } from "playwright-core";
import {
  axeFindings,
  measure,
  measureKey,
  narrowestWidth,
  presentSince,
  recordPresence,
  recordTraffic,
  residentMegabytes,
} from "../measure.ts";
import { startBrowser, testServer, turnbuckle } from "../program.ts";
import { EXACT } from "../server/results.ts";
import { anchor, ours, type Subject } from "./subjects.ts";

const { values } = parseArgs({
  options: { runs: { type: "string", default: "5" }, only: { type: "string" } },
});

type Row = [name: string, goal: string, unit: string];

const ROWS: readonly Row[] = [
  ["command to connected page", "300", "ms"],
  ["the same, of a server that needs Node", "", "ms"],
  ["page, gzipped", "150", "kB"],
  ["page, as it is sent", "", "kB"],
  ["requests", "4", ""],
  ["requests to other hosts", "0", ""],
  ["34 tools after the click", "150", "ms"],
  ["1,000 tools after the click", "200", "ms"],
  ["a key in a filter of 1,000", "16", "ms"],
  ["10 MB of JSON", "500", "ms"],
  ["10 MB of JSON, longest task", "50", "ms"],
  ["5,000 blocks", "500", "ms"],
  ["5,000 blocks, longest task", "50", "ms"],
  ["idle memory", "25", "MB"],
  ["values that are not as they were sent", "0", ""],
  ["axe findings", "0", ""],
  ["narrowest width", "360", "px"],
];

type Figures = Record<string, number>;

async function run(browser: Browser, subject: Subject): Promise<Figures> {
  const figures: Figures = {};
  // A server that starts at once: the others need Node, whose start is no work of an Inspector.
  await withServer(browser, subject, [turnbuckle(), "demo", "--stdio"], async (_, __, startMs) => {
    figures["command to connected page"] = startMs;
  });
  await withServer(browser, subject, testServer(34), async (page, pid, startMs, traffic) => {
    figures["the same, of a server that needs Node"] = startMs;
    const { requests, sentBytes, gzippedBytes, hosts } = await traffic.stop();
    figures["page, gzipped"] = gzippedBytes / 1000;
    figures["page, as it is sent"] = sentBytes / 1000;
    figures.requests = requests;
    figures["requests to other hosts"] = hosts.length;
    await subject.leaveTools(page);
    const list = await measure(page, subject.clickTools, subject.hasTools(34));
    figures["34 tools after the click"] = list.ms;
    figures["idle memory"] = await idleMemory(page, pid);
    for (const [tool, has, name] of [
      ["big_result", subject.hasJson, "10 MB of JSON"],
      ["many_blocks", subject.hasBlocks, "5,000 blocks"],
    ] as const) {
      await subject.openTool(page, tool);
      const { ms, longestTask } = await measure(page, subject.clickCall, has);
      figures[name] = ms;
      figures[`${name}, longest task`] = longestTask;
    }
  });
  await withServer(browser, subject, testServer(1000), async (page) => {
    await subject.leaveTools(page);
    const list = await measure(page, subject.clickTools, subject.hasTools(1000));
    figures["1,000 tools after the click"] = list.ms;
    const key = await measureKey(page, subject.filter, "r", subject.hasFiltered);
    figures["a key in a filter of 1,000"] = key.ms;
  });
  await withServer(browser, subject, testServer(34), async (page) => {
    await measure(page, subject.clickTools, subject.hasTools(34));
    await subject.openTool(page, "exact");
    figures["axe findings"] = (await axeFindings(page)).length;
    await measure(page, subject.clickCall, `document.body.textContent.includes('"ok"')`);
    figures["values that are not as they were sent"] = changedValues(await subject.shownJson(page));
    figures["narrowest width"] = await narrowestWidth(page);
  });
  return figures;
}

type Use = (
  page: Page,
  pid: number,
  startMs: number,
  traffic: ReturnType<typeof recordTraffic>,
) => Promise<void>;

async function withServer(
  browser: Browser,
  subject: Subject,
  server: readonly string[],
  use: Use,
): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1360, height: 860 } });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const traffic = recordTraffic(page);
  await recordPresence(page, subject.connected);
  const begin = performance.timeOrigin + performance.now();
  const program = subject.start(server);
  try {
    await page.goto(await program.address());
    await subject.connect(page);
    await use(page, program.pid, (await presentSince(page)) - begin, traffic);
  } finally {
    await context.close();
    await program.stop();
  }
}

/** Returns the memory once it has stayed the same for a second. */
async function idleMemory(page: Page, pid: number): Promise<number> {
  const [, main = ""] = testServer();
  for (let last = -1; ; ) {
    const now = residentMegabytes(pid, main);
    if (Math.abs(now - last) < 0.5) {
      return now;
    }
    last = now;
    await page.waitForTimeout(1000);
  }
}

/** Counts the values of the exact result that a page does not show as they were sent. */
function changedValues(shown: string): number {
  const values = EXACT.slice(1, -1).split(/,(?=")/);
  const text = shown.replaceAll(/\s/g, "");
  return values.filter((value) => !text.includes(value.replaceAll(/\s/g, ""))).length;
}

function median(all: readonly number[]): number {
  const sorted = [...all].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

const browser = await startBrowser();
const subjects = [ours, anchor].filter(
  ({ name }) => values.only === undefined || name === values.only,
);
const all = new Map<string, Figures[]>(subjects.map(({ name }) => [name, []]));
for (let index = 0; index < Number(values.runs); index += 1) {
  for (const subject of subjects) {
    all.get(subject.name)?.push(await run(browser, subject));
    console.error(`${subject.name}: run ${index + 1} of ${values.runs}`);
  }
}
console.log(`Chromium ${browser.version()}, ${values.runs} runs, ${turnbuckle()}\n`);
console.log(`| | goal | ${subjects.map(({ name }) => name).join(" | ")} |`);
console.log(`|---|---|${subjects.map(() => "---|").join("")}`);
for (const [name, goal, unit] of ROWS) {
  const cells = subjects.map((subject) => {
    const found = (all.get(subject.name) ?? []).map((figures) => figures[name] ?? Number.NaN);
    const [low, high] = [Math.min(...found), Math.max(...found)].map(Math.round);
    const range = low === high ? "" : ` (${low} to ${high})`;
    return `${Math.round(median(found))}${unit && ` ${unit}`}${range}`;
  });
  console.log(`| ${name} | ${goal}${goal && unit && ` ${unit}`} | ${cells.join(" | ")} |`);
}
await browser.close();
