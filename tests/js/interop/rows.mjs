// Who is tried: client, transport, era. One row of the table each.

import * as inspector from "./inspector.mjs";
import * as sdk1 from "./sdk1.mjs";
import * as sdk2 from "./sdk2.mjs";

const MODERN = "2026-07-28";

/** The transports, and those of them that the modern era has. */
const EVERY = ["http", "sse", "stdio"];
const NEWER = ["http", "stdio"];

/** What the Inspector's command line cannot do by its design, step by step. */
const ONE_SHOT = {
  progress: "prints the result only",
  watch: "ends after one answer, so it cannot see a change",
  complete: "has no method for completions",
  elicit: "has nobody to ask",
  sample: "has nobody to ask",
  roots: "has no roots to name",
  cancel: "has no way to cancel a call",
};

/** What the modern era has in another form; the steps demand the same outcome. */
const IN_MODERN = {
  watch: "the client listens on a stream of its own (subscriptions/listen)",
  elicit: "no server request: the call ends as input-required, the client answers and repeats it",
  sample: "no server request: the call ends as input-required, the client answers and repeats it",
  roots: "no server request: the call ends as input-required, the client answers and repeats it",
};

/**
 * `name`: what `--only` takes; `connect`: the adapter's; `transport`: http, sse (HTTP+SSE) or stdio; `mode`: how the client
 * is told which era to speak; `era`: the one it has to end up with; `cannot`: the steps it cannot take, `otherwise`: those
 * it takes in another form, each with the reason.
 */
export const ROWS = [
  ...over(EVERY, "sdk-1.x", sdk1, { era: "legacy" }),
  ...over(EVERY, "client-2.x-legacy", sdk2, { mode: "legacy", era: "legacy" }),
  ...over(NEWER, "client-2.x-modern", sdk2, { mode: { pin: MODERN }, era: "modern", otherwise: IN_MODERN }),
  ...over(NEWER, "client-2.x-auto", sdk2, { mode: "auto", era: "modern", otherwise: IN_MODERN }),
  ...over(EVERY, "inspector-legacy", inspector, { mode: "legacy", era: "legacy", cannot: ONE_SHOT }),
  ...over(NEWER, "inspector-modern", inspector, { mode: "modern", era: "modern", cannot: ONE_SHOT }),
];

function over(transports, client, { connect }, rest) {
  return transports.map((transport) => ({
    name: `${client}-${transport}`,
    client,
    transport,
    connect,
    cannot: {},
    otherwise: {},
    ...rest,
  }));
}
