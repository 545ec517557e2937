// Programs with a page: `turnbuckle inspect`, or another Inspector.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, chromium } from "playwright-core";

export const REPOSITORY = fileURLToPath(new URL("../../../..", import.meta.url));

/** The command of the test server, with `tools` tools. */
export function testServer(tools = 34): string[] {
  const main = fileURLToPath(new URL("server/main.ts", import.meta.url));
  return [process.execPath, main, "--tools", String(tools)];
}

/** Returns the binary: that of `TURNBUCKLE`, or the one that cargo builds for tests. */
export function turnbuckle(): string {
  const path = process.env.TURNBUCKLE ?? join(REPOSITORY, "target/debug/turnbuckle");
  if (!existsSync(path)) {
    throw new Error(`${path} is missing: cargo build -p turnbuckle-cli, or set TURNBUCKLE`);
  }
  return path;
}

/** Starts Chromium: that of `CHROMIUM`, or the one of the system. */
export async function startBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  if (!existsSync(executablePath)) {
    throw new Error(`${executablePath} is missing: install chromium, or set CHROMIUM`);
  }
  return await chromium.launch({ executablePath, args: ["--no-sandbox"] });
}

export type Program = {
  pid: number;
  /** The newest address that the program printed. */
  address: () => Promise<string>;
  /** Asks for another address, as Enter in its terminal does. */
  newAddress: () => Promise<string>;
  stop: (signal?: NodeJS.Signals) => Promise<void>;
};

/** Starts a program that prints the address of its page, in a home with these files alone. */
export function startProgram(
  command: readonly string[],
  environment: Record<string, string> = {},
  files: Record<string, string> = {},
): Program {
  const home = mkdtempSync(join(tmpdir(), "inspector-home-"));
  for (const [file, text] of Object.entries(files)) {
    writeFileSync(join(home, file), text);
  }
  const [name = "", ...args] = command;
  const child: ChildProcess = spawn(name, args, {
    cwd: home,
    env: { PATH: process.env.PATH, HOME: home, ...environment },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const printed = new Printed(child);
  const removeHome = () => rmSync(home, { recursive: true, force: true, maxRetries: 3 });
  // A test that fails leaves neither program nor files behind.
  const kill = () => {
    child.kill("SIGKILL");
    removeHome();
  };
  process.once("exit", kill);
  const ended = new Promise<void>((done) => {
    child.once("exit", () => {
      process.off("exit", kill);
      removeHome();
      done();
    });
  });
  return {
    pid: child.pid ?? 0,
    address: () => printed.address(1),
    newAddress: () => {
      const wanted = printed.count() + 1;
      child.stdin?.write("\n");
      return printed.address(wanted);
    },
    stop: async (signal = "SIGTERM") => {
      child.kill(signal);
      await ended;
    },
  };
}

/** The addresses in the output of a program. */
class Printed {
  private text = "";
  private waiting: (() => void)[] = [];
  private hasEnded = false;

  constructor(child: ChildProcess) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.text += text;
        this.wake();
      });
    }
    child.once("exit", () => {
      this.hasEnded = true;
      this.wake();
    });
  }

  count(): number {
    return this.addresses().length;
  }

  async address(number: number): Promise<string> {
    while (this.count() < number) {
      if (this.hasEnded) {
        throw new Error(`the program ended without an address: ${this.text}`);
      }
      await new Promise<void>((done) => this.waiting.push(done));
    }
    return this.addresses()[number - 1] as string;
  }

  private wake(): void {
    for (const done of this.waiting.splice(0)) {
      done();
    }
  }

  /** Whole lines only: a line can come in two pieces. */
  private addresses(): string[] {
    const lines = this.text.slice(0, this.text.lastIndexOf("\n") + 1);
    return lines.match(/http:\/\/[^\s/]+:\d+\/?[#?]\S+/g) ?? [];
  }
}
