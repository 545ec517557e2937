// What is run: every suite of the two pinned releases, and how many scenarios each is known to hold.

import { fileURLToPath } from "node:url";

const releases = {
  "0.2": entry("@modelcontextprotocol/conformance"),
  "0.1.16": entry("conformance-0.1.16"),
};

/** The revisions that the 0.2 release has a wire for. */
export const REVISIONS = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/**
 * The full set. A smaller count than `scenarios` means that the suite lost some; a larger one that this table is old.
 * "all" names no revision: it alone brings the skills extension, and each scenario on its newest or default wire.
 */
export const RUNS = [
  suite("2025-03-26", 1, "--spec-version", "2025-03-26"),
  suite("2025-06-18", 27, "--spec-version", "2025-06-18"),
  suite("2025-11-25", 33, "--spec-version", "2025-11-25"),
  suite("2026-07-28", 40, "--spec-version", "2026-07-28"),
  suite("all", 65),
  { id: "requirements-2025-11-25", release: "0.2", options: ["--requirements", "2025-11-25"], scenarios: 33 },
  { id: "requirements-2026-07-28", release: "0.2", options: ["--requirements", "2026-07-28"], scenarios: 50 },
  { id: "0.1.16", release: "0.1.16", options: ["--suite", "all"], scenarios: 32 },
];

/** The run of one scenario, for development: at a revision, in the old release, or on the scenario's own wire. */
export function single(scenario, version) {
  const old = version === "0.1.16";
  const wire = old || version === undefined ? [] : ["--spec-version", version];
  return {
    id: `only-${scenario}-${version ?? "default"}`,
    release: old ? "0.1.16" : "0.2",
    options: ["--scenario", scenario, ...wire],
    scenarios: 1,
    asks: version,
  };
}

/** The command line of a run, for this Node. */
export const commandOf = (run, url, output) =>
  [process.execPath, releases[run.release], "server", "--url", url, ...run.options, "-o", output];

function suite(id, scenarios, ...options) {
  return { id, release: "0.2", options: ["--suite", "all", ...options], scenarios };
}

function entry(name) {
  return fileURLToPath(new URL(`../node_modules/${name}/dist/index.js`, import.meta.url));
}
