// The demo of turnbuckle, over HTTP.

import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { turnbuckle } from "./program.ts";

export type Demo = { url: string; port: number; kill: () => Promise<void> };

/** Starts the demo, and waits until it listens. */
export async function startDemo(port: number, ...options: string[]): Promise<Demo> {
  const child: ChildProcess = spawn(turnbuckle(), ["demo", "--port", String(port), ...options], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<void>((done) => child.once("exit", () => done()));
  const url = await new Promise<string>((found, failed) => {
    for (const input of [child.stdout, child.stderr]) {
      if (input) {
        createInterface({ input }).on("line", (line) => {
          const [address] = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(line) ?? [];
          if (address !== undefined) {
            found(address);
          }
        });
      }
    }
    void ended.then(() => failed(new Error("the demo ended")));
  });
  return {
    url,
    port: Number(new URL(url).port),
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
