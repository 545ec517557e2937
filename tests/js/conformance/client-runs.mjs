// What is asked of a client: every scenario of the two pinned releases that is not about authorization.

import { fileURLToPath } from "node:url";

const releases = {
  "0.2": entry("@modelcontextprotocol/conformance"),
  "0.1.16": entry("conformance-0.1.16"),
};

/** Each scenario with the wires on which it applies; the older release has one of its own for each. */
export const SCENARIOS = [
  scenario("initialize", "2025-06-18", "2025-11-25"),
  scenario("tools_call", "2025-06-18", "2025-11-25", "2026-07-28"),
  scenario("elicitation-sep1034-client-defaults", "2025-11-25"),
  scenario("sse-retry", "2025-11-25"),
  scenario("json-schema-2020-12-preservation", "2025-11-25", "2026-07-28"),
  scenario("request-metadata", "2026-07-28"),
  scenario("sep-2322-client-request-state", "2026-07-28"),
  scenario("http-standard-headers", "2026-07-28"),
  scenario("http-custom-headers", "2026-07-28"),
  scenario("http-invalid-tool-headers", "2026-07-28"),
  scenario("json-schema-ref-no-deref", "2026-07-28"),
  ...["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"].map((name) => ({
    name,
    release: "0.1.16",
    wires: [undefined],
  })),
];

/** What "all" holds besides, by the beginning of its name: authorization, and the skills extension. */
export const BESIDE = ["auth/", "sep-2640-"];

/** The whole suite at once, with the number of scenarios that are judged of it. */
export const TOGETHER = [
  { release: "0.2", scenarios: 11 },
  { release: "0.1.16", scenarios: 4 },
];

/** The command line of a run, for this Node. */
export const clientCommand = (release, binary, options, output) =>
  [process.execPath, releases[release], "client", "--command", binary, ...options, "-o", output];

function scenario(name, ...wires) {
  return { name, release: "0.2", wires };
}

function entry(name) {
  return fileURLToPath(new URL(`../node_modules/${name}/dist/index.js`, import.meta.url));
}
