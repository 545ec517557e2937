// What is done in each row, and what has to come of it.

import assert from "node:assert/strict";

import { READ, WRITE } from "../servers/protected.mjs";
import { SECONDS } from "./rows.mjs";

/** Scopes of the login itself, which no tool asks for. */
const OF_THE_LOGIN = new Set(["offline_access", "openid"]);

/**
 * Each step gets the client, the steps that it cannot take, who has to be seen as the caller, the URL of the server, and the
 * authorization server.
 */
export const STEPS = {
  async login({ client }) {
    await client.login();
    assert.equal(client.logins(), 1, "the number of logins");
  },

  /** The first login asks for what every request needs, and for no more. */
  async call({ client, subject }) {
    same(await client.call("read_orders"), { subject, scopes: [READ] });
    assert.equal(client.logins(), 1, "the number of logins");
  },

  /** The second login asks for the scope that the tool needs besides, and loses none. */
  async "step-up"({ client, subject }) {
    same(await client.call("write_orders"), { subject, scopes: [READ, WRITE] });
    assert.equal(client.logins(), 2, "the number of logins");
  },

  /** A token that has ended is replaced without the user, and keeps its scopes. */
  async refresh({ client, cannot, subject }) {
    await client.expire(SECONDS * 1_000 + 500);
    const logins = client.logins();
    const [tool, scopes] = cannot["step-up"] ? ["read_orders", [READ]] : ["write_orders", [READ, WRITE]];
    same(await client.call(tool), { subject, scopes });
    assert.equal(client.logins(), logins, "the number of logins");
  },

  async close({ client }) {
    await client.close();
  },

  /** The authorization server saw one registration, PKCE, and the resource in every request that has to name it. */
  async requests({ client, url, issuer }) {
    issuer.say("requests");
    const seen = await issuer.next("REQUESTS");
    const at = (endpoint) => seen.filter((request) => request.endpoint === endpoint);
    const answered = ({ status }) => assert.ok(status < 400, `all of it succeeds: ${JSON.stringify(seen, null, 1)}`);
    seen.filter(({ endpoint }) => ["Registration", "Authorization", "Consent", "Token"].includes(endpoint)).forEach(answered);
    assert.equal(at("Registration").length, 1, "the number of registrations");
    const grants = at("Token").map(({ grant }) => grant);
    const codes = grants.filter((grant) => grant === "authorization_code");
    assert.equal(codes.length, client.logins(), `the codes redeemed: ${grants}`);
    assert.ok(grants.includes("refresh_token"), `a refresh: ${grants}`);
    for (const { parameters } of at("Authorization")) assert.ok(parameters.includes("code_challenge"), "a code challenge");
    for (const request of [...at("Authorization"), ...at("Token")]) {
      assert.equal(request.resource, url, `the resource of a request: ${JSON.stringify(request)}`);
    }
    assert.ok(at("Authorization").length >= client.logins(), "the number of authorization requests");
  },
};

function same(told, { subject, scopes }) {
  assert.ok(told, "the tool told nothing");
  if (subject instanceof RegExp) assert.match(told.subject, subject);
  else assert.equal(told.subject, subject);
  assert.deepEqual(told.scopes.filter((scope) => !OF_THE_LOGIN.has(scope)).sort(), scopes);
}
