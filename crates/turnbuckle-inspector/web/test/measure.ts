// Measurements in a page and of a program.

import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { gzipSync } from "node:zlib";
import type { AxeResults } from "axe-core";
import type { CDPSession, Page } from "playwright-core";

export type Timed = { ms: number; longestTask: number };

/** Runs a script in the page, which its Content-Security-Policy does not concern. */
async function evaluate<T>(session: CDPSession, expression: string): Promise<T> {
  const { result, exceptionDetails } = await session.send("Runtime.evaluate", {
    expression,
    awaitPromise: true,
    returnByValue: true,
  });
  if (exceptionDetails) {
    throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  }
  return result.value as T;
}

/** Returns a script that waits until `has` is true, and for the frame that shows it. */
function timed(start: string, has: string): string {
  return `(async () => {
    let longest = 0;
    const tasks = new PerformanceObserver((list) => {
      longest = Math.max(longest, ...list.getEntries().map((entry) => entry.duration));
    });
    tasks.observe({ entryTypes: ["longtask"] });
    const begin = ${start};
    await new Promise((done) => {
      const look = () => (${has}) && (observer.disconnect(), done());
      const observer = new MutationObserver(look);
      observer.observe(document, { childList: true, subtree: true, attributes: true, characterData: true });
      look();
    });
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    const ms = performance.now() - begin;
    // A task is reported after its end: an idle page has reported all.
    await new Promise((done) => requestIdleCallback(done));
    await new Promise((done) => requestIdleCallback(done));
    tasks.disconnect();
    return { ms, longestTask: longest };
  })()`;
}

/** Measures from an action to the frame that shows its effect. */
export async function measure(page: Page, action: string, has: string): Promise<Timed> {
  const session = await page.context().newCDPSession(page);
  const begin = `await (async () => { const now = performance.now(); ${action}; return now; })()`;
  const found = await evaluate<Timed>(session, timed(begin, has));
  await session.detach();
  return found;
}

/** Measures from a key in a field to the frame that shows its effect. */
export async function measureKey(
  page: Page,
  field: string,
  key: string,
  has: string,
): Promise<Timed> {
  const session = await page.context().newCDPSession(page);
  await page.locator(field).focus();
  const pressed = `await new Promise((done) => addEventListener("keydown", (event) => done(event.timeStamp), { once: true, capture: true }))`;
  const found = evaluate<Timed>(session, timed(pressed, has));
  // The script above listens before the key is sent: both go through the same queue.
  await session.send("Runtime.evaluate", { expression: "0" });
  await page.keyboard.press(key);
  const result = await found;
  await session.detach();
  return result;
}

/** Has the page note the time of the first frame that shows an element. */
export async function recordPresence(page: Page, selector: string): Promise<void> {
  await page.addInitScript(`(() => {
    const look = () => {
      if (document.querySelector(${JSON.stringify(selector)}) === null) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => {
        window.presentSince ??= performance.timeOrigin + performance.now();
      }));
    };
    const observer = new MutationObserver(look);
    observer.observe(document, { childList: true, subtree: true });
  })()`);
}

/** Returns the time that the page has noted, in milliseconds since 1970. */
export async function presentSince(page: Page): Promise<number> {
  return (await page.waitForFunction("window.presentSince")).jsonValue() as Promise<number>;
}

export type Traffic = {
  requests: number;
  sentBytes: number;
  gzippedBytes: number;
  hosts: string[];
};

/** Records what a page loads until `stop`, without the requests to its program's API. */
export function recordTraffic(page: Page): { stop: () => Promise<Traffic> } {
  const bodies: Promise<[number, number]>[] = [];
  const hosts = new Set<string>();
  let requests = 0;
  page.on("request", (request) => {
    const { protocol, host, pathname } = new URL(request.url());
    if (protocol === "data:" || protocol === "blob:" || pathname.startsWith("/api/")) {
      return;
    }
    requests += 1;
    hosts.add(host);
    const bytes = async (): Promise<[number, number]> => {
      const response = await request.response();
      const body = (await response?.body().catch(() => undefined)) ?? Buffer.alloc(0);
      const sent = await request.sizes().catch(() => undefined);
      return [sent?.responseBodySize ?? 0, gzipSync(body).length];
    };
    bodies.push(bytes());
  });
  return {
    stop: async () => {
      const own = new URL(page.url()).host;
      const all = await Promise.all(bodies);
      return {
        requests,
        sentBytes: all.reduce((sum, [sent]) => sum + sent, 0),
        gzippedBytes: all.reduce((sum, [, gzipped]) => sum + gzipped, 0),
        hosts: [...hosts].filter((host) => host !== own),
      };
    },
  };
}

/** Returns the processes that a process has started, and those that they have started. */
export function descendants(pid: number): number[] {
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      const stat = read(`/proc/${name}/stat`);
      return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) === pid;
    })
    .map(Number);
  return children.flatMap((child) => [child, ...descendants(child)]);
}

/** Returns true if a word is an argument of a process. */
export function hasArgument(pid: number, word: string): boolean {
  return read(`/proc/${pid}/cmdline`).split("\0").includes(word);
}

/** Returns the resident memory in MB of a program and its descendants, without those with an argument. */
export function residentMegabytes(pid: number, without: string): number {
  const counted = [pid, ...descendants(pid).filter((one) => !hasArgument(one, without))];
  const kilobytes = counted.map((one) =>
    Number(/VmRSS:\s+(\d+)/.exec(read(`/proc/${one}/status`))?.[1] ?? 0),
  );
  return kilobytes.reduce((sum, one) => sum + one, 0) / 1024;
}

function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Returns the accessibility findings of a page: the rule, and the element. */
export async function axeFindings(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  await evaluate(session, `${axe}; 0`);
  const { violations } = await evaluate<AxeResults>(
    session,
    `axe.run({ resultTypes: ["violations"] })`,
  );
  await session.detach();
  return violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html.slice(0, 160)}`),
  );
}

/** Returns the narrowest width at which nothing of a page lies beyond its right edge. */
export async function narrowestWidth(page: Page): Promise<number> {
  let narrowest = Number.POSITIVE_INFINITY;
  for (const width of [1600, 1360, 1280, 1152, 1024, 900, 768, 600, 480, 414, 360]) {
    await page.setViewportSize({ width, height: 860 });
    await page.evaluate(() => new Promise(requestAnimationFrame));
    const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (beyond > 0) {
      break;
    }
    narrowest = width;
  }
  return narrowest;
}
