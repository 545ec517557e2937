// The page of `turnbuckle inspect` in a browser, with a server.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { Browser, BrowserContext, Page } from "playwright-core";
import type { EntryDetail, InspectorState } from "../../src/api/types.ts";
import { type Program, startProgram, testServer, turnbuckle } from "../program.ts";

export type Look = { width?: number; height?: number; scheme?: "light" | "dark" };

/** A page, the program that serves it, and the errors of the page's console. */
export type Opened = {
  page: Page;
  program: Program;
  faults: string[];
  close: () => Promise<void>;
};

/** Starts the program with a target, by default the test server on stdio. */
export function startInspector(target: readonly string[] = ["--", ...testServer()]): Program {
  return startProgram([turnbuckle(), "inspect", "--no-open", ...target]);
}

/** Answers with the page of a folder instead of the one in the binary, while the page is worked on. */
async function serveFiles(context: BrowserContext, folder: string): Promise<void> {
  await context.route(/\/(inspector\.(js|css))?$/, async (route) => {
    const { pathname } = new URL(route.request().url());
    const isPage = pathname === "/";
    const bytes = readFileSync(join(folder, isPage ? "index.html" : `${pathname}.gz`));
    const response = await route.fetch();
    const { "content-encoding": _, "content-length": __, ...headers } = response.headers();
    await route.fulfill({ headers, body: isPage ? bytes : gunzipSync(bytes) });
  });
}

/** Opens the page of a program at an address. */
export async function openPage(
  context: BrowserContext,
  address: string,
): Promise<{ page: Page; faults: string[] }> {
  const page = await context.newPage();
  if (process.env.PAGE_FILES !== undefined) {
    await serveFiles(context, process.env.PAGE_FILES);
  }
  page.setDefaultTimeout(10_000);
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") {
      faults.push(message.text());
    }
  });
  await page.goto(address);
  await page.waitForSelector(".rail-head");
  return { page, faults };
}

/** Starts the program, opens its page, and waits until its server is connected. */
export async function open(
  browser: Browser,
  target?: readonly string[],
  look: Look = {},
): Promise<Opened> {
  const { width = 1360, height = 860, scheme = "light" } = look;
  const program = startInspector(target);
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme });
  const { page, faults } = await openPage(context, await program.address());
  await page.waitForSelector(".items .item", { state: "attached" });
  return {
    page,
    program,
    faults,
    close: async () => {
      await context.close();
      await program.stop();
    },
  };
}

/** Returns what the program tells at a path of its API. */
export async function ask<T>(page: Page, path: string): Promise<T> {
  return await page.evaluate(async (at) => await (await fetch(`/api${at}`)).json(), path);
}

/** Waits until the state of the program is as wanted. */
export async function waitForState(
  page: Page,
  isWanted: (state: InspectorState) => boolean,
): Promise<InspectorState> {
  // The stream is open before the state is read, so that no change falls between the two.
  const changes = await page.evaluateHandle(async () => {
    const events = new EventSource("/api/events");
    const changes = { events, count: 0 };
    events.addEventListener("changed", () => {
      changes.count += 1;
    });
    await new Promise((opened) => events.addEventListener("open", opened));
    return changes;
  });
  try {
    for (;;) {
      const seen = await changes.evaluate(({ count }) => count);
      const state = await ask<InspectorState>(page, "/state");
      if (isWanted(state)) {
        return state;
      }
      await page.waitForFunction(({ changes, seen }) => changes.count > seen, { changes, seen });
    }
  } finally {
    await changes.evaluate(({ events }) => events.close());
  }
}

/** Returns the text of the newest entry of the timeline that passes a filter. */
export async function newestEntry(page: Page, filter: string): Promise<EntryDetail> {
  const query = `filter=${encodeURIComponent(filter)}`;
  const { matching } = await ask<{ matching: number }>(page, `/timeline?${query}&from=0&count=1`);
  const { entries } = await ask<{ entries: { n: number }[] }>(
    page,
    `/timeline?${query}&from=${matching - 1}&count=1`,
  );
  return await ask<EntryDetail>(page, `/timeline/${entries[0]?.n}`);
}

/** Opens an item of the list. */
export async function openItem(page: Page, name: string): Promise<void> {
  const named = page.locator(".item-name").getByText(name, { exact: true });
  await page.locator(".items .item", { has: named }).first().click();
  await page.locator(".item-head h2", { hasText: name }).waitFor({ state: "attached" });
}

/** Calls the open tool, and waits until its call has a status. */
export async function call(page: Page, status = ".tag-ok"): Promise<void> {
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(`.run-status ${status}`);
}
