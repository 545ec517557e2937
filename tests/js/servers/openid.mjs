// An authorization server of others, oidc-provider, with login and consent pages.
//
//   openid.mjs jwt|opaque TOKEN-SECONDS [SCOPE...]
//
// The scopes are those that it knows of itself. Those of the resources it knows in any case, but it registers no client
// that names one of them.

import { randomBytes } from "node:crypto";
import { createServer } from "node:http";

import Provider from "oidc-provider";

import { answerInput, SCOPES } from "./protected.mjs";

const [accessTokenFormat, seconds, ...scopes] = process.argv.slice(2);
const INSPECTOR = { id: "inspector", secret: randomBytes(32).toString("base64url") };
const requests = [];

// The provider notes on standard output which of its settings are not for production.
console.info = console.error;
answerInput(() => requests);
const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: INSPECTOR.id,
        client_secret: INSPECTOR.secret,
        redirect_uris: [],
        response_types: [],
        grant_types: [],
      },
    ],
    ...(scopes.length > 0 && { scopes: ["openid", "offline_access", ...scopes] }),
    cookies: { keys: [randomBytes(32).toString("hex")] },
    features: {
      introspection: { enabled: true },
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context, resource) => ({
          scope: SCOPES.join(" "),
          audience: resource,
          accessTokenFormat,
          accessTokenTTL: Number(seconds),
        }),
      },
    },
  });
  const record = (endpoint, status) => (context) => {
    const { code_challenge, grant_type, resource, scope } = context.oidc.params ?? {};
    const parameters = code_challenge ? ["code_challenge"] : [];
    requests.push({ endpoint, parameters, grant: grant_type, resource, scope, status });
  };
  provider.on("registration_create.success", record("Registration", 201));
  provider.on("authorization.success", record("Authorization", 303));
  provider.on("authorization.error", record("Authorization", 400));
  provider.on("grant.success", record("Token", 200));
  provider.on("grant.error", record("Token", 400));
  provider.on("server_error", (_context, error) => console.error(error));
  server.on("request", provider.callback());
  const introspection = `${issuer}/token/introspection`;
  process.stdout.write(`READY ${JSON.stringify({ issuer, introspection, inspector: INSPECTOR })}\n`);
});
