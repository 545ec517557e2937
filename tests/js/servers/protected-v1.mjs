// The TypeScript SDK 1.x as a protected server and as the authorization server of its tokens, both of the SDK.
//
//   protected-v1.mjs TOKEN-SECONDS

import { createHash, randomUUID } from "node:crypto";
import { createServer } from "node:http";

import { InvalidGrantError, InvalidTargetError, InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import { getOAuthProtectedResourceMetadataUrl, mcpAuthRouter } from "@modelcontextprotocol/sdk/server/auth/router.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import express from "express";

import { answerInput, READ, SCOPES, TOOLS, whoCalls } from "./protected.mjs";
import { ready } from "./serve.mjs";

const seconds = Number(process.argv[2]);
const requests = [];

/** Grants everything at once, for one resource, and gives a refresh token once. */
class Provider {
  #clients = new Map();
  #codes = new Map();
  #refreshTokens = new Map();
  #accessTokens = new Map();

  constructor(resource) {
    this.resource = resource;
  }

  clientsStore = {
    getClient: (id) => this.#clients.get(id),
    registerClient: (client) => {
      requests.push({ endpoint: "Registration", status: 201 });
      this.#clients.set(client.client_id, client);
      return client;
    },
  };

  async authorize(client, { state, scopes, codeChallenge, redirectUri, resource }, response) {
    const parameters = ["code_challenge"];
    requests.push({ endpoint: "Authorization", parameters, resource: resource?.href, scope: scopes?.join(" "), status: 302 });
    this.#check(resource);
    const code = randomUUID();
    this.#codes.set(code, { client, scopes, codeChallenge });
    const answer = new URL(redirectUri);
    answer.searchParams.set("code", code);
    if (state !== undefined) answer.searchParams.set("state", state);
    response.redirect(answer.href);
  }

  async challengeForAuthorizationCode(_client, code) {
    return take(this.#codes, code, { keep: true }).codeChallenge;
  }

  async exchangeAuthorizationCode(client, code, _verifier, _redirect, resource) {
    return this.#grant("authorization_code", take(this.#codes, code), client, resource);
  }

  async exchangeRefreshToken(client, refreshToken, _scopes, resource) {
    return this.#grant("refresh_token", take(this.#refreshTokens, refreshToken), client, resource);
  }

  async verifyAccessToken(token) {
    const info = this.#accessTokens.get(hash(token));
    if (!info) throw new InvalidTokenError("nobody knows the token");
    return { ...info, token };
  }

  #grant(grant, { client, scopes = [] }, { client_id: clientId }, resource) {
    requests.push({ endpoint: "Token", grant, resource: resource?.href, status: 200 });
    this.#check(resource);
    if (client.client_id !== clientId) throw new InvalidGrantError("the grant is of another client");
    const [access, refresh] = [randomUUID(), randomUUID()];
    const expiresAt = Math.floor(Date.now() / 1_000) + seconds;
    this.#accessTokens.set(hash(access), { clientId, scopes, expiresAt, resource });
    this.#refreshTokens.set(refresh, { client, scopes });
    return { access_token: access, token_type: "Bearer", expires_in: seconds, refresh_token: refresh, scope: scopes.join(" ") };
  }

  #check(resource) {
    if (resource?.href !== this.resource) throw new InvalidTargetError(`this is for ${this.resource} only`);
  }
}

const hash = (token) => createHash("sha256").update(token).digest("hex");

/** Looks a code or token up that can be used once. */
function take(all, key, { keep = false } = {}) {
  const entry = all.get(key);
  if (!entry) throw new InvalidGrantError("nobody knows the grant");
  if (!keep) all.delete(key);
  return entry;
}

function build() {
  const server = new McpServer({ name: "protected-v1", version: "1.0.0" });
  for (const name of Object.keys(TOOLS)) server.registerTool(name, {}, ({ authInfo }) => whoCalls(authInfo));
  return server;
}

answerInput(() => requests);
const app = express();
const server = createServer(app);
server.listen(0, "127.0.0.1", () => {
  const origin = new URL(`http://127.0.0.1:${server.address().port}`);
  const url = new URL("/mcp", origin);
  const provider = new Provider(url.href);
  const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(url);
  const gate = (requiredScopes) => requireBearerAuth({ verifier: provider, requiredScopes, resourceMetadataUrl });
  const [everyone, perTool] = [gate([READ]), new Map(Object.entries(TOOLS).map(([name, scopes]) => [name, gate(scopes)]))];

  app.use(mcpAuthRouter({ provider, issuerUrl: origin, resourceServerUrl: url, scopesSupported: SCOPES }));
  app.use("/mcp", express.json(), everyone, (request, response, next) => {
    const tool = request.body?.method === "tools/call" && perTool.get(request.body.params.name);
    return tool ? tool(request, response, next) : next();
  });
  app.all("/mcp", async (request, response) => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
    await build().connect(transport);
    await transport.handleRequest(request, response, request.body);
  });
  ready(server, "/mcp");
});
