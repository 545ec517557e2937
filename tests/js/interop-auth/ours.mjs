// Our client, which is a program of its own: it takes all steps by itself, one after the other, and says what came of each.

import { browse } from "./browser.mjs";
import { startProgram } from "./program.mjs";

/** Starts our client, see `rows.mjs` for what comes back. */
export function connect({ program, url, seconds, era = "auto", cannot = {} }) {
  // It does not wait for us, so the logins are those up to each step.
  const loginsAt = [];
  let opened = 0;
  let logins = 0;
  let trouble;
  const opens = (line) => {
    if (line.startsWith("STEP ")) loginsAt.push(opened);
    if (!line.startsWith("OPEN ")) return false;
    opened += 1;
    // Its own listener gets the redirect.
    browse(line.slice("OPEN ".length)).catch((error) => (trouble ??= error));
    return true;
  };
  const without = Object.keys(cannot).map((step) => `without-${step}`);
  const client = startProgram([program, "client", url, String(seconds), era, ...without], {}, opens);
  const step = async (name) => {
    let taken;
    try {
      taken = await client.next("STEP");
    } catch (error) {
      throw trouble ?? error;
    }
    logins = loginsAt.shift();
    if (taken.step !== name) throw new Error(`the client took the step ${taken.step}, not ${name}`);
    return taken.told;
  };
  const steps = ["call", "step-up", "refresh"].filter((name) => !cannot[name]);
  return {
    login: () => step("login"),
    call: () => step(steps.shift()),
    // It waits by itself.
    expire: async () => {},
    logins: () => logins,
    complaints: client.complaints,
    async close() {
      await step("log-out");
      await client.end();
    },
    stop: client.stop,
  };
}
