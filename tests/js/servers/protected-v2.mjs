// The TypeScript SDK 2.x as a protected server. Its tokens are of the authorization server that the command line names,
// which it asks about each.
//
//   protected-v2.mjs ISSUER CLIENT-ID CLIENT-SECRET

import { createServer } from "node:http";

import { toNodeHandler } from "@modelcontextprotocol/node";
import {
  createMcpHandler,
  getOAuthProtectedResourceMetadataUrl,
  McpServer,
  OAuthError,
  OAuthErrorCode,
  oauthMetadataResponse,
  requireBearerAuth,
  requireScopes,
} from "@modelcontextprotocol/server";

import { answerInput, READ, SCOPES, TOOLS, whoCalls } from "./protected.mjs";
import { ready } from "./serve.mjs";

const [issuer, clientId, clientSecret] = process.argv.slice(2);
const oauthMetadata = await (await fetch(`${issuer}/.well-known/oauth-authorization-server`)).json();

/** Asks the authorization server what a token is good for. */
async function verifyAccessToken(token) {
  const credentials = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`).toString("base64");
  const response = await fetch(oauthMetadata.introspection_endpoint, {
    method: "POST",
    headers: { authorization: `Basic ${credentials}` },
    body: new URLSearchParams({ token }),
  });
  if (!response.ok) throw new Error(`introspection failed with ${response.status}: ${await response.text()}`);
  const { active, aud, client_id, exp, scope, sub } = await response.json();
  if (!active) throw new OAuthError(OAuthErrorCode.InvalidToken, "the token is not active");
  const extra = { subject: sub };
  return { token, clientId: client_id, scopes: scope.split(" "), expiresAt: exp, resource: new URL([aud].flat()[0]), extra };
}

function build() {
  const server = new McpServer({ name: "protected-v2", version: "1.0.0" });
  for (const [name, scopes] of Object.entries(TOOLS)) {
    const scopeChallenge = requireScopes(...scopes);
    server.registerTool(name, { scopeChallenge }, ({ http }) => whoCalls(http.authInfo));
  }
  return server;
}

answerInput(() => []);
const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const url = new URL(`http://127.0.0.1:${server.address().port}/mcp`);
  const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(url);
  const gate = requireBearerAuth({
    verifier: { verifyAccessToken },
    requiredScopes: [READ],
    expectedResource: url,
    resourceMetadataUrl,
  });
  const mcp = createMcpHandler(build, { onerror: console.error });
  const metadata = { oauthMetadata, resourceServerUrl: url, scopesSupported: SCOPES };
  const fetch = async (request) => {
    const document = oauthMetadataResponse(request, metadata);
    if (document) return document;
    const authInfo = await gate(request);
    return authInfo instanceof Response ? authInfo : mcp.fetch(request, { authInfo });
  };
  server.on("request", toNodeHandler({ fetch }, { onerror: console.error }));
  ready(server, "/mcp");
});
