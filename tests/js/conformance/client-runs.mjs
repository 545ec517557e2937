// What is asked of a client: every scenario of the two pinned releases.

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
  ...["no-prefetch", "verify-digest", "verify-size", "verify-frontmatter"].map((name) =>
    scenario(`sep-2640-client-${name}`, undefined),
  ),
  ...authorization(),
  ...["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"].map((name) => ({
    name,
    release: "0.1.16",
    wires: [undefined],
  })),
];

/** The whole suite at once, with the number of scenarios that are judged of it. */
export const TOGETHER = [
  { release: "0.2", scenarios: 48 },
  { release: "0.1.16", scenarios: 26 },
];

/** The command line of a run, for this Node. */
export const clientCommand = (release, binary, options, output) =>
  [process.execPath, releases[release], "client", "--command", binary, ...options, "-o", output];

/** The scenarios about authorization. Those of extensions say nothing of a revision. */
function authorization() {
  const later = ["2025-11-25", "2026-07-28"];
  const modern = ["2026-07-28"];
  const unbound = [undefined];
  const wires = {
    "metadata-default": later,
    "metadata-var1": later,
    "metadata-var2": later,
    "metadata-var3": later,
    "basic-cimd": later,
    "scope-from-www-authenticate": later,
    "scope-from-scopes-supported": later,
    "scope-omitted-when-undefined": later,
    "scope-step-up": later,
    "scope-retry-limit": later,
    "token-endpoint-auth-basic": ["2025-06-18", ...later],
    "token-endpoint-auth-post": ["2025-06-18", ...later],
    "token-endpoint-auth-none": ["2025-06-18", ...later],
    "pre-registration": later,
    "2025-03-26-oauth-metadata-backcompat": ["2025-03-26"],
    "2025-03-26-oauth-endpoint-fallback": ["2025-03-26"],
    "resource-mismatch": modern,
    "offline-access-scope": modern,
    "offline-access-not-supported": modern,
    "authorization-server-migration": modern,
    "iss-supported": modern,
    "iss-not-advertised": modern,
    "iss-supported-missing": modern,
    "iss-wrong-issuer": modern,
    "iss-unexpected": modern,
    "iss-normalized": modern,
    "metadata-issuer-mismatch": modern,
    "client-credentials-jwt": unbound,
    "client-credentials-basic": unbound,
    "enterprise-managed-authorization": unbound,
    "dpop": unbound,
    "dpop-nonce": unbound,
    "wif-jwt-bearer": unbound,
  };
  return Object.entries(wires).map(([name, wires]) => scenario(`auth/${name}`, ...wires));
}

function scenario(name, ...wires) {
  return { name, release: "0.2", wires };
}

function entry(name) {
  return fileURLToPath(new URL(`../node_modules/${name}/dist/index.js`, import.meta.url));
}
