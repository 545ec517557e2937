// A program that prints lines of a word and JSON, and reads lines.

import { start, stop } from "../lib/process.mjs";
import { within } from "../lib/time.mjs";

const LINE = 20_000;

/**
 * Starts `command`.
 * @param options what `spawn` takes besides.
 * @param heard is called with each line; what it returns true for is not kept.
 * @returns `next(word)`, the rest of the next line that begins with the word; `say(line)`; `end()`, which closes its
 *   input and waits for a good end; `stop()`, which ends it; `complaints()`, the last of its standard error.
 */
export function startProgram(command, options = {}, heard = () => false) {
  const program = start(command, { ...options, stdio: ["pipe", "pipe", "pipe"] });
  const lines = [];
  let wake = () => {};
  let rest = "";
  let death;
  program.child.stdin?.on("error", () => {});
  program.child.stdout?.setEncoding("utf8").on("data", (text) => {
    const whole = (rest + text).split("\n");
    rest = whole.pop();
    lines.push(...whole.filter((line) => !heard(line)));
    wake();
  });
  program.ended.then((how) => {
    death = how || "exit code 0";
    wake();
  });

  const take = async (word) => {
    for (;;) {
      const line = lines.shift();
      if (line?.startsWith(`${word} `)) return line.slice(word.length + 1);
      if (line !== undefined) throw new Error(`${word} was expected, not ${line}`);
      if (death !== undefined) throw new Error(`the program ended (${death}): ${program.complaints()}`);
      await new Promise((resolve) => (wake = resolve));
    }
  };
  return {
    next: async (word) => JSON.parse(await within(LINE, `a line ${word}`, take(word))),
    say: (line) => program.child.stdin.write(`${line}\n`),
    async end() {
      program.child.stdin.end();
      const how = await within(LINE, "the end of the program", program.ended);
      if (how) throw new Error(`the program ended badly (${how}): ${program.complaints()}`);
    },
    stop: () => stop(program),
    complaints: program.complaints,
  };
}
