// `npm run foreign`: servers of others, inspected from the connection to the restart.

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Browser, Page } from "playwright-core";
import { call, type Opened, open, openItem, openPage, startInspector } from "./browser/start.ts";
import { REPOSITORY, startBrowser } from "./program.ts";

const SCRIPTS = join(REPOSITORY, "tests/js");
const PYTHON = join(REPOSITORY, "target/debug/python");

type Steps = Record<string, (page: Page) => Promise<unknown>>;
type Foreign = {
  name: string;
  target: () => string[] | Promise<string[]>;
  /** Takes the steps of the login page. */
  logIn?: (login: Page) => Promise<unknown>;
  steps: Steps;
};

/** Starts a server of `tests/js/servers`, which ends with this process, and returns what it says. */
async function startServer(script: string, ...args: string[]): Promise<Record<string, string>> {
  const child = spawn(process.execPath, [join(SCRIPTS, "servers", script), ...args], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  process.once("exit", () => child.kill());
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith("READY ")) {
      return JSON.parse(line.slice("READY ".length));
    }
  }
  throw new Error(`${script} ended`);
}

const section = (title: string) => (page: Page) =>
  page.locator(".section", { hasText: title }).first().click();
const shown = (page: Page, text: string) =>
  page.locator(".result-body", { hasText: text }).first().waitFor();

/** Calls a tool with values for its fields, and waits for a text in the result. */
const tool =
  (name: string, values: Record<string, string>, result: string) => async (page: Page) => {
    await section("Tools")(page);
    await page.locator("[data-filter]").fill(name);
    await openItem(page, name);
    for (const [field, value] of Object.entries(values)) {
      const input = page.locator(`#field-${field}`);
      const isSelect = await input.evaluate((one) => one instanceof HTMLSelectElement);
      await (isSelect ? input.selectOption({ label: value }) : input.fill(value));
    }
    await call(page);
    await shown(page, result);
  };

/** Steps that every server has. */
const LAST: Steps = {
  "what the server is": async (page) => {
    await section("Server")(page);
    await page.waitForSelector(".facts");
  },
  "a restart": async (page) => {
    await page.locator(".pane-head .button", { hasText: "Restart" }).click();
    await page.locator(".facts div", { hasText: "Connections" }).getByText("2").waitFor();
    await page.locator(".server.is-current .dot-ok").waitFor();
  },
  "the checks": async (page) => {
    await section("Findings")(page);
    await page.locator(".button", { hasText: "Run the checks" }).click();
    await page
      .locator(".pane-head .button", { hasText: "Check again" })
      .waitFor({ timeout: 180_000 });
  },
};

const FOREIGN: readonly Foreign[] = [
  {
    name: "server-everything",
    target: () => [
      "--",
      process.execPath,
      join(SCRIPTS, "node_modules/@modelcontextprotocol/server-everything/dist/index.js"),
      "stdio",
    ],
    steps: {
      "a call": tool("get-sum", { a: "2", b: "40" }, "42"),
      "structured content": tool(
        "get-structured-content",
        { location: "Chicago" },
        "structured content",
      ),
      "an image": async (page) => {
        await tool("get-tiny-image", {}, "")(page);
        const image = page.locator(".block-bytes img").first();
        await image.waitFor();
        await page.waitForFunction(
          () => (document.querySelector(".block-bytes img") as HTMLImageElement).naturalWidth > 0,
        );
      },
      progress: async (page) => {
        await section("Tools")(page);
        await page.locator("[data-filter]").fill("long-running");
        await openItem(page, "trigger-long-running-operation");
        await page.locator("#field-duration").fill("2");
        await page.locator("#field-steps").fill("4");
        await page.keyboard.press("Control+Enter");
        await page.waitForSelector(".related progress");
        await page.waitForSelector(".run-status .tag-ok");
      },
      "a question": async (page) => {
        await section("Tools")(page);
        await page.locator("[data-filter]").fill("trigger-elicitation-request");
        await openItem(page, "trigger-elicitation-request");
        await page.keyboard.press("Control+Enter");
        // The server asked for the roots when it was connected.
        const question = page.locator(".question", { hasText: "asks for values" });
        await question.locator("button", { hasText: "Decline" }).click();
        await page.waitForSelector(".run-status .tag-ok");
      },
      "a resource": async (page) => {
        await section("Resources")(page);
        await page.waitForSelector(".markdown, .block-text");
      },
      "a template": async (page) => {
        await section("Templates")(page);
        await openItem(page, "demo://resource/dynamic/text/{resourceId}");
        await page.locator("#field-resourceId").fill("7");
        await call(page);
        await shown(page, "7");
      },
      "a prompt with completion": async (page) => {
        await section("Prompts")(page);
        await openItem(page, "completable-prompt");
        await page.locator("#field-department").click();
        await page.keyboard.type("Eng");
        await page.locator(".completed-list [role=option]", { hasText: "Engineering" }).click();
        await page.locator("#field-name").fill("Ada");
        await call(page);
        await page.waitForSelector(".role-user");
      },
    },
  },
  {
    name: "server-filesystem",
    target: () => {
      const folder = mkdtempSync(join(tmpdir(), "inspector-files-"));
      writeFileSync(join(folder, "note.txt"), "a note with caf\u00e9\n");
      mkdirSync(join(folder, "more"));
      const name = "@modelcontextprotocol/server-filesystem";
      const peers = join(REPOSITORY, "target/foreign-peers");
      execFileSync("npm", ["install", "--prefix", peers, "--ignore-scripts", `${name}@2026.8.31`]);
      return ["--", process.execPath, join(peers, "node_modules", name, "dist/index.js"), folder];
    },
    steps: {
      "a listing": async (page) => {
        const folder = /\S*inspector-files-\w+/.exec(
          (await page.locator(".server-head").first().getAttribute("title")) ?? "",
        )?.[0];
        await tool("list_directory", { path: folder ?? "" }, "note.txt")(page);
        await tool("read_text_file", { path: `${folder}/note.txt` }, "caf\u00e9")(page);
      },
      "a refusal": async (page) => {
        await section("Tools")(page);
        await page.locator("[data-filter]").fill("read_text_file");
        await openItem(page, "read_text_file");
        await page.locator("#field-path").fill("/etc/passwd");
        await call(page, ".tag-error");
        await shown(page, "denied");
      },
    },
  },
  {
    name: "FastMCP",
    target: () => {
      execFileSync("sh", [join(REPOSITORY, "tests/interop/python/install.sh"), PYTHON]);
      const script = join(REPOSITORY, "tests/interop/python/tasks.py");
      return ["--", "env", `PYTHONPATH=${PYTHON}`, "python3", script, "serve"];
    },
    steps: {
      "a call that becomes a task": tool("compute", { label: "pi" }, "computed pi"),
      "a failure": async (page) => {
        await section("Tools")(page);
        await page.locator("[data-filter]").fill("fail");
        await openItem(page, "fail");
        await call(page, ".tag-error, .tag-ok");
      },
      "a question": async (page) => {
        await section("Tools")(page);
        await page.locator("[data-filter]").fill("greet");
        await openItem(page, "greet");
        await page.keyboard.press("Control+Enter");
        await page.locator(".question textarea").first().fill("Ada");
        await page.locator(".question button", { hasText: "Answer" }).click();
        await shown(page, "Hello, Ada!");
      },
    },
  },
  {
    name: "oidc-provider",
    // A server of the TypeScript SDK that asks oidc-provider about each token.
    target: async () => {
      const scopes = ["orders:read", "orders:write", "orders:delete"];
      const issuer = await startServer("openid.mjs", "opaque", "300", ...scopes);
      const { id, secret } = issuer.inspector as unknown as Record<string, string>;
      const server = await startServer(
        "protected-v2.mjs",
        issuer.issuer ?? "",
        id ?? "",
        secret ?? "",
      );
      return [server.url ?? ""];
    },
    logIn: async (login) => {
      await login.locator("[name=login]").fill("alice");
      await login.locator("[name=password]").fill("secret");
      await login.locator("button[type=submit]").click();
      await login.getByRole("button", { name: "Continue" }).click();
    },
    steps: {
      "a call": tool("read_orders", {}, "alice"),
      "a call that needs another scope": async (page) => {
        await section("Tools")(page);
        await page.locator("[data-filter]").fill("write_orders");
        await openItem(page, "write_orders");
        await page.keyboard.press("Control+Enter");
        await page.waitForSelector(".run-status .tag");
      },
    },
  },
];

/** Opens the page with a server, after a login if that is needed. */
async function openForeign(browser: Browser, { target, logIn }: Foreign): Promise<Opened> {
  const words = await target();
  if (!logIn) {
    return await open(browser, words);
  }
  const program = startInspector(words);
  const context = await browser.newContext({ viewport: { width: 1360, height: 860 } });
  const opened = await openPage(context, await program.address());
  const [login] = await Promise.all([
    context.waitForEvent("page"),
    opened.page.locator(".chain a", { hasText: "Log in" }).click(),
  ]);
  await logIn(login);
  await opened.page.waitForSelector(".items .item");
  const close = async () => {
    await context.close();
    await program.stop();
  };
  return { ...opened, program, close };
}

/** Takes the steps of a server, and returns how many failed. */
async function inspect(browser: Browser, foreign: Foreign): Promise<number> {
  const { name, steps } = foreign;
  console.log(name);
  const { page, faults, close } = await openForeign(browser, foreign);
  let failures = 0;
  for (const [step, take] of Object.entries({ ...steps, ...LAST })) {
    try {
      await take(page);
      console.log(`  ok      ${step}`);
    } catch (error) {
      failures += 1;
      await page.screenshot({ path: join(tmpdir(), `inspector-${name}-${step}.png`) });
      console.log(`  FAILED  ${step}: ${error}`);
      await page.keyboard.press("Escape");
    }
  }
  const summary = await page.locator(".totals").textContent();
  console.log(`  findings: ${summary}, ${await page.locator(".finding").count()}`);
  for (const fault of faults) {
    console.log(`  console: ${fault}`);
  }
  await close();
  return failures + faults.length;
}

const only = process.argv[2];
const browser = await startBrowser();
let failures = 0;
for (const foreign of FOREIGN.filter(({ name }) => only === undefined || name === only)) {
  failures += await inspect(browser, foreign);
}
await browser.close();
process.exitCode = failures === 0 ? 0 : 1;
