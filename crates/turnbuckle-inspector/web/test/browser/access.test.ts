// Servers that need something of the person first: consent to a file, or a login.

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startDemo } from "../demo.ts";
import { startBrowser, startProgram, testServer, turnbuckle } from "../program.ts";
import { openPage, startInspector } from "./start.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

describe("a server", () => {
  it("of a file that was found is started after consent", async () => {
    const [command, ...args] = testServer();
    const files = { "mcp.json": JSON.stringify({ mcpServers: { shop: { command, args } } }) };
    const program = startProgram([turnbuckle(), "inspect", "--no-open"], {}, files);
    const context = await browser.newContext({ viewport: { width: 1360, height: 860 } });
    const { page, faults } = await openPage(context, await program.address());
    await page.locator(".rail-scroll .server-other", { hasText: "shop" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("mcp.json").first().waitFor();
    expect(await dialog.textContent()).toContain("server/main.ts");
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect(await page.locator(".server-head:not(.server-other)").count()).toBe(0);
    await page.locator(".rail-scroll .server-other", { hasText: "shop" }).click();
    await page.getByRole("button", { name: "Use it" }).click();
    await page.locator(".items .item", { hasText: "echo" }).waitFor();
    expect(faults).toEqual([]);
    await context.close();
    await program.stop();
  });

  it("that demands a login shows its page, and is connected after it", async () => {
    const demo = await startDemo(0, "--auth", "--auth-port", "0", "--auto-approve");
    const program = startInspector([demo.url]);
    const context = await browser.newContext({ viewport: { width: 1360, height: 860 } });
    const { page, faults } = await openPage(context, await program.address());
    await page.locator(".step-running", { hasText: "authorization" }).waitFor();
    const [login] = await Promise.all([
      context.waitForEvent("page"),
      page.locator(".chain a", { hasText: "Log in" }).click(),
    ]);
    await page.locator(".items .item", { hasText: "slow_echo" }).waitFor();
    expect(await login.evaluate(() => window.opener)).toBeNull();
    expect(faults).toEqual([]);
    await context.close();
    await program.stop();
    await demo.kill();
  });
});
