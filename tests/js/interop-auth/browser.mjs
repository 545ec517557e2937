// The user and the browser of a login: follows redirects, keeps cookies, fills in forms, and agrees to everything.

import { until } from "../lib/time.mjs";

/** No login takes more pages. */
const PAGES = 20;
const PAGE = 10_000;
/** How much slower a user is than a program: some clients open the page first, and then listen for the redirect. */
const SLOWER = 5_000;

/** Who logs in. The first user of our authorization server for tests, where the page offers a choice. */
export const USER = "alice";

/**
 * Opens `url` and goes on from page to page.
 * @param callback where the login ends, if nobody listens there.
 * @returns the address that the login was redirected to: it begins with `callback`, or is the last that was opened.
 */
export async function browse(url, callback) {
  const cookies = new Cookies();
  let request = { method: "GET", url: new URL(url) };
  for (let page = 0; page < PAGES; page += 1) {
    const { href } = request.url;
    if (callback !== undefined && href.startsWith(callback)) return href;
    const response = await open(request, cookies);
    const location = response.headers.get("location");
    const text = await response.text();
    if (response.status >= 300 && response.status < 400 && location) {
      request = { method: "GET", url: new URL(location, href) };
    } else if (response.status !== 200) {
      throw new Error(`the browser got ${response.status} at ${href.split("?")[0]}: ${text.slice(0, 2_000)}`);
    } else if (/<form\b/.test(text)) {
      request = submit(text, request.url);
    } else if (callback === undefined) {
      return href;
    } else {
      throw new Error(`the login ended at ${href.split("?")[0]}: ${text.slice(0, 2_000)}`);
    }
  }
  throw new Error(`the login took more than ${PAGES} pages`);
}

async function open({ method, url, body }, cookies) {
  const headers = { accept: "text/html", cookie: cookies.of(url) };
  if (body !== undefined) Object.assign(headers, { "content-type": "application/x-www-form-urlencoded", origin: url.origin });
  const load = () => fetch(url, { method, headers, body, redirect: "manual", signal: AbortSignal.timeout(PAGE) });
  const response = await until(SLOWER, `a listener at ${url.origin}`, () => load().catch(unlessRefused));
  cookies.take(url, response.headers.getSetCookie());
  return response;
}

/** Passes over an error that says that nobody listens. */
function unlessRefused(error) {
  const causes = [error.cause, ...(error.cause?.errors ?? [])];
  if (!causes.some((cause) => cause?.code === "ECONNREFUSED")) throw error;
}

/** Fills in the form of a page: as it is where it has a value, else with the user; then the first of its buttons. */
function submit(page, url) {
  const [, head, inner] = page.match(/<form\b([^>]*)>([^]*?)<\/form>/) ?? [];
  const fields = new URLSearchParams();
  for (const [, attributes] of inner.matchAll(/<input\b([^>]*)>/g)) {
    const name = attribute(attributes, "name");
    if (name) fields.append(name, attribute(attributes, "value") ?? USER);
  }
  for (const [, attributes] of inner.matchAll(/<select\b([^>]*)>/g)) fields.append(attribute(attributes, "name"), USER);
  const [, button] = inner.match(/<button\b([^>]*)>/) ?? [, ""];
  if (attribute(button, "name")) fields.append(attribute(button, "name"), attribute(button, "value"));
  return { method: "POST", url: new URL(attribute(head, "action") ?? "", url), body: fields.toString() };
}

function attribute(attributes, name) {
  const [, value] = attributes.match(new RegExp(`\\b${name}="([^"]*)"`)) ?? [];
  return value?.replace(/&quot;/g, '"').replace(/&#39;|&#x27;/g, "'").replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
}

/** The cookies of one login, by the rules that matter on one machine: each for its origin, below its path. */
class Cookies {
  #all = new Map();

  take({ origin }, headers) {
    for (const header of headers) {
      const [pair, ...attributes] = header.split(";").map((part) => part.trim());
      const at = pair.indexOf("=");
      const path = attributes.find((it) => /^path=/i.test(it))?.slice("path=".length) ?? "/";
      const cookie = { origin, path, name: pair.slice(0, at), value: pair.slice(at + 1) };
      const expires = attributes.find((it) => /^expires=/i.test(it))?.slice("expires=".length);
      const key = `${origin} ${path} ${cookie.name}`;
      if (cookie.value === "" || (expires && Date.parse(expires) < Date.now())) this.#all.delete(key);
      else this.#all.set(key, cookie);
    }
  }

  of({ origin, pathname }) {
    const fits = (cookie) => {
      const below = cookie.path.endsWith("/") ? cookie.path : `${cookie.path}/`;
      return cookie.origin === origin && (pathname === cookie.path || pathname.startsWith(below));
    };
    return [...this.#all.values()].filter(fits).map(({ name, value }) => `${name}=${value}`).join("; ");
  }
}

// As a program: `browser.mjs URL`, for clients that start a browser themselves.
if (process.argv[1] === import.meta.filename) {
  await browse(process.argv[2]);
}
