// mcp-remote: a server over a pipe that logs in at a protected one over HTTP, and starts the user's browser itself.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { CLIENT } from "../interop/answers.mjs";
import { openTransport } from "../interop/peer.mjs";
import { pause } from "../lib/time.mjs";

const PROGRAM = fileURLToPath(new URL("../node_modules/mcp-remote/dist/proxy.js", import.meta.url));
const BROWSER = fileURLToPath(new URL("browser.mjs", import.meta.url));

/** Starts mcp-remote with its options `options`, see `rows.mjs` for what comes back. */
export function connect({ url, options }) {
  const home = mkdtempSync(join(tmpdir(), "mcp-remote-"));
  process.on("exit", () => rmSync(home, { recursive: true, force: true }));
  // It opens addresses with xdg-open, which takes the browser from a variable. This one counts the logins in a file.
  const [opened, browser] = [join(home, "opened"), join(home, "browser")];
  writeFileSync(opened, "");
  writeFileSync(browser, `#!/bin/sh\necho login >> '${opened}'\nexec '${process.execPath}' '${BROWSER}' "$1"\n`, { mode: 0o700 });
  const env = { PATH: process.env.PATH, HOME: home, MCP_REMOTE_CONFIG_DIR: join(home, "kept"), BROWSER: browser };

  const target = { command: [process.execPath, PROGRAM, url, "--transport", "http-only", ...options], env, complaints: "" };
  const client = new Client(CLIENT);
  return {
    login: () => client.connect(openTransport(target, { Pipe: StdioClientTransport })),
    async call(name) {
      const { content, isError } = await client.callTool({ name, arguments: {} });
      if (isError) throw new Error(content[0].text);
      return JSON.parse(content[0].text);
    },
    expire: pause,
    logins: () => readFileSync(opened, "utf8").split("\n").length - 1,
    complaints: () => target.complaints.trim(),
    close: () => client.close(),
  };
}
