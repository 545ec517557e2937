// The browser of the logins: redirects, cookies, forms, and where it ends.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";

import { browse } from "../interop-auth/browser.mjs";

const CALLBACK = "http://127.0.0.1:9/callback";

const FORM = `<form method="post" action="/consent?a=1&amp;b=2"><input type="hidden" name="csrf" value="a&amp;b">
  <input required type="text" name="login"><select name="user"><option value="alice">alice</option></select>
  <button name="decision" value="allow">Allow</button><button name="decision" value="deny">Deny</button></form>`;

test("a login page is filled in and sent, and the redirect to the callback is not followed", async (context) => {
  const seen = [];
  const origin = await serve(context, (request, response, body) => {
    seen.push(`${request.method} ${request.url} [${request.headers.cookie ?? ""}] ${body}`);
    const cookies = ["all=1; Path=/", "page=2; Path=/page", "old=; Path=/"];
    if (request.url === "/login") return response.writeHead(302, { location: "/page/form", "set-cookie": cookies }).end();
    if (request.method === "GET") return response.writeHead(200, { "content-type": "text/html" }).end(FORM);
    response.writeHead(303, { location: `${CALLBACK}?code=x` }).end();
  });
  assert.equal(await browse(`${origin}/login`, CALLBACK), `${CALLBACK}?code=x`);
  assert.deepEqual(seen, [
    "GET /login [] ",
    "GET /page/form [all=1; page=2] ",
    "POST /consent?a=1&b=2 [all=1] csrf=a%26b&login=alice&user=alice&decision=allow",
  ]);
});

test("an error page ends the login with its text", async (context) => {
  const origin = await serve(context, (_request, response) => response.writeHead(400).end("no such client"));
  await assert.rejects(browse(origin, CALLBACK), /got 400 .*no such client/);
});

test("redirects without an end are an error", async (context) => {
  const origin = await serve(context, (_request, response) => response.writeHead(302, { location: "/" }).end());
  await assert.rejects(browse(origin, CALLBACK), /more than 20 pages/);
});

async function serve(context, handle) {
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text) => (body += text)).on("end", () => handle(request, response, body));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => server.close() && server.closeAllConnections());
  return `http://127.0.0.1:${server.address().port}`;
}
