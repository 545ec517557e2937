// The two programs that are measured, and where their pages have what is measured.

import { join } from "node:path";
import type { Page } from "playwright-core";
import { type Program, REPOSITORY, startProgram, turnbuckle } from "../program.ts";

/** Pieces of script that run in the page: `click…` acts, `has…` is true once the work is shown. */
export type Subject = {
  name: string;
  start: (server: readonly string[]) => Program;
  /** What the page has once it is connected: a selector. */
  connected: string;
  /** Brings the page from its address to a connected server. */
  connect: (page: Page) => Promise<void>;
  clickTools: string;
  /** Leaves the list of tools, so that it is opened again. */
  leaveTools: (page: Page) => Promise<void>;
  hasTools: (count: number) => string;
  filter: string;
  hasFiltered: string;
  openTool: (page: Page, name: string) => Promise<void>;
  clickCall: string;
  hasJson: string;
  hasBlocks: string;
  /** Returns the JSON that the page shows of a result. */
  shownJson: (page: Page) => Promise<string>;
};

export const ours: Subject = {
  name: "turnbuckle",
  start: (server) => startProgram([turnbuckle(), "inspect", "--no-open", "--", ...server]),
  connected: ".items .item-name",
  connect: async (page) => {
    await page.waitForSelector(".items .item-name");
  },
  clickTools: `document.querySelector('.section[title^="Tools"]').click()`,
  leaveTools: async (page) => {
    await page.keyboard.press("7");
    await page.waitForSelector(".facts");
  },
  hasTools: (count) =>
    `document.querySelector('.item[aria-setsize="${count}"] .item-name') !== null`,
  filter: "[data-filter]",
  hasFiltered: `/ of /.test(document.querySelector('.pane-list .count')?.textContent ?? '')`,
  openTool: async (page, name) => {
    await page.locator(".items .item", { hasText: name }).first().click();
    await page.locator(".item-head h2", { hasText: name }).waitFor();
  },
  clickCall: `document.querySelector('.action-row .button-primary').click()`,
  hasJson: `document.querySelectorAll('.block-tree .tree-line').length > 1`,
  hasBlocks: `/^Block 1:/.test(document.querySelector('.block-text')?.textContent ?? '')`,
  shownJson: async (page) => {
    await page.locator("[data-tab=raw]").click();
    return (await page.locator("pre.raw").first().textContent()) ?? "";
  },
};

const PORT = 16_274;

/** Inspector 2.12.0, as `tests/js/install.sh` installs it. */
export const anchor: Subject = {
  name: "Inspector 2.12.0",
  start: (server) => {
    const launcher = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
    const command = [process.execPath, join(REPOSITORY, "tests/js", launcher), "--web", "--"];
    return startProgram([...command, ...server], {
      CLIENT_PORT: String(PORT),
      MCP_SANDBOX_PORT: String(PORT + 1),
      MCP_AUTO_OPEN_ENABLED: "false",
      MCP_INSPECTOR_SECRET_STORE: "memory",
    });
  },
  connected: 'input[value="Tools"]',
  connect: async (page) => {
    await page.locator("[role=switch]").first().dispatchEvent("click");
    await page.waitForSelector('input[value="Tools"]', { state: "attached" });
  },
  clickTools: `document.querySelector('input[value="Tools"]').click()`,
  leaveTools: async (page) => {
    await page.locator('input[value="Servers"]').dispatchEvent("click");
    await page.getByText("Connection Info").waitFor();
  },
  hasTools: (count) =>
    `document.querySelectorAll('button[data-variant="listItem"]').length === ${count}`,
  filter: 'input[placeholder^="Search tools"]',
  hasFiltered: `document.querySelectorAll('button[data-variant="listItem"]').length < 1000`,
  openTool: async (page, name) => {
    await page.locator('button[data-variant="listItem"]', { hasText: name }).first().click();
    await page.getByRole("button", { name: "Execute Tool" }).waitFor();
  },
  clickCall: `[...document.querySelectorAll('button')].find((one) => one.textContent === 'Execute Tool').click()`,
  hasJson: `/"order": "A-2026-0"/.test(document.body.textContent)`,
  hasBlocks: `/Block 1:/.test(document.body.textContent)`,
  shownJson: async (page) => (await page.locator("body").textContent()) ?? "",
};
