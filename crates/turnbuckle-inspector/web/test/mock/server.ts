// An HTTP server with the API of the Inspector and the built page, for tests of the page alone.

import { createReadStream } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Answer, ItemKind, RequestToSend } from "../../src/api/types.ts";
import { items } from "./data.ts";
import { Mock } from "./engine.ts";
import { blobBytes } from "./results.ts";
import { blocks, rows, search, textAt, textPiece } from "./values.ts";

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const FILES: Record<string, string> = {
  "/": "text/html; charset=utf-8",
  "/inspector.js": "text/javascript; charset=utf-8",
  "/inspector.css": "text/css; charset=utf-8",
};

export type Running = { mock: Mock; url: string; close: () => Promise<void> };

/** Starts the mock on a port of the system. */
export async function startMock(port = 0): Promise<Running> {
  const mock = new Mock();
  const server: Server = createServer((request, response) => {
    handle(mock, request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  await new Promise<void>((done) => server.listen(port, "127.0.0.1", done));
  const { port: bound } = server.address() as AddressInfo;
  return {
    mock,
    url: `http://127.0.0.1:${bound}/`,
    close: async () => {
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function handle(
  mock: Mock,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? "/", "http://localhost");
  const type = FILES[url.pathname];
  if (type !== undefined) {
    const name = url.pathname === "/" ? "/index.html" : url.pathname;
    const folder = process.env.PAGE_DIR ?? new URL("../../../page", import.meta.url).pathname;
    response.writeHead(200, { "content-type": type, "content-security-policy": POLICY });
    createReadStream(`${folder}${name}`).pipe(response);
    return;
  }
  const parts = url.pathname.split("/").slice(2).map(decodeURIComponent);
  if (parts[0] === "events") {
    events(mock, response);
    return;
  }
  let body = "";
  for await (const chunk of request) {
    body += String(chunk);
  }
  const answer = route(mock, request.method ?? "GET", parts, url.searchParams, body);
  if (answer === undefined) {
    response.writeHead(404, { "content-type": "application/json" });
    response.end('{"error":"There is no such thing."}');
  } else if (answer instanceof Uint8Array) {
    response.writeHead(200, { "content-type": "image/png" }).end(answer);
  } else if (typeof answer === "string") {
    response.writeHead(200, { "content-type": "text/plain; charset=utf-8" }).end(answer);
  } else {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  }
}

function events(mock: Mock, response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(": open\n\n");
  let pending: Record<string, number> | undefined;
  const listener = (versions: Record<string, number>) => {
    if (pending) {
      Object.assign(pending, versions);
      return;
    }
    pending = { ...versions };
    setTimeout(() => {
      response.write(`event: changed\ndata: ${JSON.stringify(pending)}\n\n`);
      pending = undefined;
    }, 50);
  };
  mock.listeners.add(listener);
  response.on("close", () => mock.listeners.delete(listener));
}

type Reply = object | string | Uint8Array | undefined;

function route(
  mock: Mock,
  method: string,
  [first = "", second = "", third = "", fourth = "", fifth = ""]: string[],
  query: URLSearchParams,
  body: string,
): Reply {
  const number = (name: string, otherwise: number) => Number(query.get(name) ?? otherwise);
  switch (`${method} ${first}`) {
    case "GET state":
      return mock.state;
    case "PUT place":
      mock.state.place = body;
      return {};
    case "POST inbox":
      return mock.reply(second, JSON.parse(body) as Answer);
    case "GET timeline": {
      if (second === "") {
        return mock.window(query.get("filter") ?? "", number("from", 0), number("count", 100));
      }
      return entryRoute(mock, Number(second), third, query);
    }
    case "POST sessions":
      return second === ""
        ? openSession(mock, body)
        : sessionAction(mock, second, third, fourth, fifth, body);
    case "DELETE sessions": {
      const session = mock.state.sessions.find((one) => one.id === second);
      if (session) {
        session.subscriptions = session.subscriptions.filter((uri) => uri !== fourth);
        mock.changed("sessions");
      }
      return {};
    }
    case "GET sessions":
      return third === "check"
        ? mock.check
        : list(
            mock,
            second,
            fourth as ItemKind,
            fifth,
            query.get("filter") ?? "",
            number("from", 0),
            number("count", 100),
          );
    default:
      return undefined;
  }
}

function openSession(mock: Mock, body: string): Reply {
  const source = JSON.parse(body) as { source: string; name?: string; url?: string };
  const known = mock.state.sessions[1];
  if (source.url?.startsWith("bad") || !known) {
    return undefined;
  }
  const id = `s${mock.state.sessions.length + 1}`;
  const name = source.name ?? source.url ?? "";
  const session = { ...known, id, name, lists: [], source: source as typeof known.source };
  mock.state.sessions.push({
    ...session,
    connection: { state: "connecting", step: "connect", sinceUs: 0 },
  });
  mock.changed("sessions");
  return session;
}

function sessionAction(
  mock: Mock,
  id: string,
  action: string,
  n: string,
  verb: string,
  body: string,
): Reply {
  const session = mock.state.sessions.find((one) => one.id === id);
  if (!session) {
    return undefined;
  }
  switch (action) {
    case "requests":
      if (verb === "cancel") {
        mock.cancel(Number(n));
        return {};
      }
      return mock.request(id, JSON.parse(body) as RequestToSend);
    case "subscriptions":
      session.subscriptions = [...session.subscriptions, (JSON.parse(body) as { uri: string }).uri];
      break;
    case "restart":
      session.connection = { state: "ready" };
      session.connections += 1;
      break;
    case "close":
      session.connection = { state: "closed" };
      break;
    case "log-level":
      session.logLevel = (JSON.parse(body) as { level: string }).level;
      break;
    case "check":
      mock.runCheck();
      return {};
    case "complete": {
      const { value } = JSON.parse(body) as { value: string };
      const names = ["Ada Example", "Alan Example", "Grace Example"];
      const values = names.filter((name) => name.toLowerCase().includes(value.toLowerCase()));
      return { values, total: "3", hasMore: false };
    }
    default:
      return {};
  }
  mock.changed("sessions");
  return {};
}

function entryRoute(mock: Mock, n: number, view: string, query: URLSearchParams): Reply {
  const stored = mock.timeline[n - 1];
  if (!stored) {
    return undefined;
  }
  const text = textAt(stored.text, query.get("at"));
  const from = Number(query.get("from") ?? 0);
  const count = Number(query.get("count") ?? 100);
  switch (view) {
    case "":
      return mock.detail(n);
    case "rows":
      return rows(
        text,
        { depth: Number(query.get("depth") ?? 1), toggled: new Set(query.getAll("toggle")) },
        from,
        count,
      );
    case "search":
      return search(text, query.get("text") ?? "");
    case "blocks":
      return blocks(stored.text, from, count);
    case "text":
      return textPiece(stored.text, query.get("block") ?? "", from);
    case "raw":
      return text;
    case "copy":
      return query.get("as") === "command" ? `turnbuckle call ${n}` : stored.text;
    case "blob":
      return blobBytes();
    default:
      return undefined;
  }
}

function list(
  mock: Mock,
  id: string,
  kind: ItemKind,
  key: string,
  filter: string,
  from: number,
  count: number,
): Reply {
  const all = items[id]?.[kind] ?? [];
  if (key !== "") {
    const item = all.find((one) => one.key === key);
    if (!item) {
      return undefined;
    }
    const listed = mock.timeline.find(
      ({ entry, text }) =>
        entry.session === id &&
        entry.kind === "received" &&
        text.includes(mock.definitionText(item)),
    );
    const start = listed ? Buffer.from(listed.text).indexOf(mock.definitionText(item)) : 0;
    const row = { ...item, form: undefined, full: undefined, method: undefined };
    return {
      row,
      description: item.full,
      method: item.method,
      form: item.form,
      raw: { n: listed?.entry.n ?? 1, start, end: start + mock.definitionText(item).length },
      canSubscribe: kind === "resources",
      canComplete: kind === "prompts" || kind === "templates",
    };
  }
  const words = filter.toLowerCase().split(" ");
  const matching = all.filter((one) =>
    words.every((word) => `${one.name} ${one.full}`.toLowerCase().includes(word)),
  );
  const shown = matching
    .slice(from, from + count)
    .map(({ form: _, full: __, method: ___, ...row }) => row);
  return {
    total: all.length,
    matching: matching.length,
    from,
    rows: shown,
    isLoading: false,
    error: null,
  };
}
