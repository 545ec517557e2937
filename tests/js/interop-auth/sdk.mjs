// The TypeScript clients 1.x and 2.x, each with its own OAuth client.

import * as v2 from "@modelcontextprotocol/client";
import * as v1auth from "@modelcontextprotocol/sdk/client/auth.js";
import * as v1 from "@modelcontextprotocol/sdk/client/index.js";
import * as v1http from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { randomUUID } from "node:crypto";

import { CLIENT } from "../interop/answers.mjs";
import { pause } from "../lib/time.mjs";
import { browse } from "./browser.mjs";

/** Where the logins end. Nobody listens there: the browser hands over the address. */
const CALLBACK = "http://127.0.0.1:9/callback";

/** The SDK 1.x, see `rows.mjs` for what comes back. */
export function connect1({ url }) {
  const { UnauthorizedError } = v1auth;
  const { StreamableHTTPClientTransport: Http } = v1http;
  // It takes the code alone.
  const finish = (transport, answer) => transport.finishAuth(answer.get("code"));
  return connect({ url, Http, UnauthorizedError, finish, create: () => new v1.Client(CLIENT) });
}

/** The client 2.x in the negotiation mode `mode`. */
export function connect2({ url, mode }) {
  const { Client, StreamableHTTPClientTransport: Http, UnauthorizedError } = v2;
  const finish = (transport, answer) => transport.finishAuth(answer);
  const create = () => new Client(CLIENT, { versionNegotiation: { mode } });
  return connect({ url, Http, UnauthorizedError, finish, create });
}

function connect({ url, Http, UnauthorizedError, finish, create }) {
  const provider = new MemoryProvider();
  const client = create();
  let transport;

  /** Does something, and logs in and does it again where the client says that the user has to. */
  const withLogin = async (action) => {
    try {
      return await action();
    } catch (error) {
      if (!(error instanceof UnauthorizedError)) throw error;
    }
    await finish(transport, await provider.login());
    return action();
  };

  return {
    // Connecting anew takes another transport; the first one, which found the authorization server, ends the login.
    async login() {
      await withLogin(async () => {
        const fresh = new Http(new URL(url), { authProvider: provider });
        transport ??= fresh;
        await client.connect(fresh);
        transport = fresh;
      });
    },
    async call(name) {
      const { content, isError } = await withLogin(() => client.callTool({ name, arguments: {} }));
      if (isError) throw new Error(content[0].text);
      return JSON.parse(content[0].text);
    },
    expire: pause,
    logins: () => provider.logins,
    close: () => client.close(),
  };
}

/** What a host has to do for the SDK: keep things, and show the login page. */
class MemoryProvider {
  logins = 0;
  redirectUrl = CALLBACK;
  clientMetadata = {
    client_name: CLIENT.name,
    redirect_uris: [CALLBACK],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
    application_type: "native",
  };

  #kept = {};
  #page;

  clientInformation = () => this.#kept.client;
  saveClientInformation = (client) => void (this.#kept.client = client);
  tokens = () => this.#kept.tokens;
  saveTokens = (tokens) => void (this.#kept.tokens = tokens);
  codeVerifier = () => this.#kept.verifier;
  saveCodeVerifier = (verifier) => void (this.#kept.verifier = verifier);
  discoveryState = () => this.#kept.discovery;
  saveDiscoveryState = (discovery) => void (this.#kept.discovery = discovery);
  state = () => (this.#kept.state = randomUUID());
  redirectToAuthorization = (page) => void (this.#page = page);

  /** Logs in at the page that the SDK wants to be shown, and returns the parameters of the redirect. */
  async login() {
    this.logins += 1;
    const answer = new URL(await browse(this.#page, CALLBACK)).searchParams;
    if (answer.get("state") !== this.#kept.state) throw new Error("the redirect has another state");
    if (!answer.has("code")) throw new Error(`the login failed: ${answer}`);
    return answer;
  }
}
