// A browser with the built page on the mock.

import type { Browser, Page } from "playwright-core";
import { type Running, startMock } from "../mock/server.ts";

/** `stop` ends the mock alone, `close` the page too. */
export type Opened = Running & { page: Page; faults: string[]; stop: () => Promise<void> };

type Look = { width?: number; height?: number; scheme?: "light" | "dark" };

/** Opens the page on a mock of its own. `faults` gets the errors of the page's console. */
export async function open(browser: Browser, look: Look = {}): Promise<Opened> {
  const { width = 1360, height = 860, scheme = "light" } = look;
  const running = await startMock();
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: scheme });
  page.setDefaultTimeout(5000);
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") {
      faults.push(message.text());
    }
  });
  await page.goto(running.url);
  await page.waitForSelector(".server");
  return {
    ...running,
    page,
    faults,
    stop: running.close,
    close: async () => {
      await page.close();
      await running.close();
    },
  };
}
