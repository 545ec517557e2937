// Who is tried with whom. One row of the table each.

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { SCOPES } from "../servers/protected.mjs";
import * as ours from "./ours.mjs";
import * as remote from "./remote.mjs";
import { connect1, connect2 } from "./sdk.mjs";

/** How long a token is good for, in seconds. Long enough for a login and a call, short enough to wait for its end. */
export const SECONDS = 3;

const MODERN = { pin: "2026-07-28" };

/** What clients cannot do by their design, step by step. */
const REFRESHES = { "step-up": "refreshes the token that lacks the scope, in place of asking for the scope" };
const ONE_SCOPE = { "step-up": "the server asks for the same scopes at each request" };
const HELD_TO_SCOPES = { "step-up": "registers with the scopes of its first login, to which the provider holds it" };

/**
 * `name`: what `--only` takes. `client`, `server` and `issuer` describe the row. `start` starts the server and the
 * authorization server with `run(command)`, and returns them as programs: `server` and `issuer`, with their `url` and
 * `subject`, the user as the tools see it, where that is not the one who logged in. `cannot` has the steps that the client
 * cannot take, each with the reason. `platform` is the only one on which the client can be tried, if there is one; `python`
 * says that packages for Python are needed.
 *
 * `connect({ program, url, seconds })` returns a client:
 *   login()       connects, and logs in where that is needed
 *   call(name)    what the tool told of the caller
 *   expire(ms)    waits until the token has ended
 *   logins()      how often the user was asked
 *   close()       ends the connection
 *   stop()        ends it in any case; complaints(), what it said on its standard error. Both may be missing.
 */
export const ROWS = [
  theirs("sdk-1.x", connect1, REFRESHES),
  theirs("client-2.x-legacy", ({ url }) => connect2({ url, mode: "legacy" })),
  theirs("client-2.x-modern", ({ url }) => connect2({ url, mode: MODERN })),
  theirs("mcp-remote", ({ url }) => remote.connect({ url, options: [] }), {}, "linux"),
  theirs("mcp-remote-modern", ({ url }) => remote.connect({ url, options: ["--protocol", "auto"] }), {}, "linux"),
  protectedBy("protected-v2", "SDK 2.x", "ours", startV2),
  protectedBy("protected-v1", "SDK 1.x", "SDK 1.x", startV1),
  python("sdk", "Python SDK", "legacy"),
  python("sdk", "Python SDK", "modern"),
  python("fastmcp", "FastMCP", "legacy"),
  python("fastmcp", "FastMCP", "modern"),
  openid("openid-jwt", "ours", ours.connect, startJwt),
  openid("openid-jwt-scopes", "ours", ours.connect, startNamed),
  openid("openid-opaque", "ours", ours.connect, startOpaque),
  openid("openid-client-2.x", "client-2.x-modern", ({ url }) => connect2({ url, mode: MODERN }), startNamed, HELD_TO_SCOPES),
];

/** A client of others with our server and our authorization server. */
function theirs(client, connect, cannot = {}, platform) {
  return { name: client, client, server: "ours", issuer: "ours", connect, start: startOurs, cannot, platform };
}

/** Our client with a server of others. */
function protectedBy(name, server, issuer, start) {
  return { name, client: "ours", server, issuer, connect: ours.connect, start, cannot: {} };
}

/** Our client, in one era, with a server in Python that is its own authorization server. */
function python(kind, server, era) {
  const connect = (options) => ours.connect({ ...options, era });
  const start = (tools) => startPython(tools, kind);
  return { name: `python-${kind}-${era}`, client: "ours", server, issuer: server, connect, start, cannot: ONE_SCOPE, python: true };
}

/** A client with our server and an authorization server of others. */
function openid(name, client, connect, start, cannot = {}) {
  return { name, client, server: "ours", issuer: "oidc-provider", connect, start, cannot };
}

async function startOurs({ run, program }) {
  const both = await run([program, "server", String(SECONDS)]);
  return { server: both, issuer: both };
}

async function startV2({ run, program, script }) {
  const issuer = await run([program, "server", String(SECONDS)]);
  const { id, secret } = issuer.inspector;
  return { server: await run([...script("protected-v2.mjs"), issuer.issuer, id, secret]), issuer };
}

async function startV1({ run, script }) {
  const both = await run([...script("protected-v1.mjs"), String(SECONDS)]);
  // It knows no users, and so names the client, whose id it chose.
  return { server: both, issuer: both, subject: /./ };
}

/** Where the packages for Python are installed: beside our program, among what cargo builds. */
export const pythonPackages = (program) => join(dirname(program), "python");

async function startPython({ run, program }, kind) {
  const script = fileURLToPath(new URL("../../interop/python/protected.py", import.meta.url));
  const command = ["env", `PYTHONPATH=${pythonPackages(program)}`, "python3", script, kind, String(SECONDS)];
  const both = await run(command);
  // It knows no users, and so names the client, whose id it chose.
  return { server: both, issuer: both, subject: /./ };
}

/** The authorization server registers no client that names the scopes of our server. */
function startJwt(tools) {
  return startOpenid(tools, ["jwt"]);
}

/** It knows the scopes of our server. */
function startNamed(tools) {
  return startOpenid(tools, ["jwt", ...SCOPES]);
}

/** Its tokens are opaque, so our server has to ask about each. */
function startOpaque(tools) {
  return startOpenid(tools, ["opaque"]);
}

async function startOpenid({ run, program, script }, [format, ...scopes]) {
  const issuer = await run([...script("openid.mjs"), format, String(SECONDS), ...scopes]);
  const { id, secret } = issuer.inspector;
  const tokens = { jwt: ["jwt", issuer.issuer], opaque: ["introspection", issuer.issuer, issuer.introspection, id, secret] };
  return { server: await run([program, "server", ...tokens[format]]), issuer };
}
