// The state of the mock: sessions, timeline, inbox and place.

import type {
  Answer,
  AnswerOutcome,
  CheckRun,
  Entry,
  EntryDetail,
  InspectorState,
  ItemKind,
  Question,
  RequestToSend,
  SendOutcome,
  TimelineWindow,
} from "../../src/api/types.ts";
import { rawAt, stringAt } from "../../src/pure/edit.ts";
import { readJson } from "../../src/pure/json.ts";
import { type Item, initialState, items } from "./data.ts";
import { field, form, text } from "./forms.ts";
import { resultOf } from "./results.ts";

type Stored = { entry: Entry; text: string; related: number[] };

export class Mock {
  readonly state: InspectorState = initialState();
  readonly timeline: Stored[] = [];
  readonly listeners = new Set<(versions: Record<string, number>) => void>();
  readonly check: CheckRun = {
    state: "idle",
    done: 0,
    total: 214,
    passed: 0,
    skipped: 0,
    findings: [],
    leftOut: 0,
    error: null,
  };
  private clock = 1_204_000;
  private waiting = new Map<string, () => void>();

  constructor() {
    for (const session of ["s1", "s2"]) {
      this.begin(session);
    }
  }

  changed(...topics: string[]): void {
    const versions: Record<string, number> = {};
    for (const topic of topics) {
      versions[topic] = (this.state.versions[topic] ?? 0) + 1;
    }
    Object.assign(this.state.versions, versions);
    for (const listener of this.listeners) {
      listener(versions);
    }
  }

  add(session: string, kind: Entry["kind"], text: string, more: Partial<Entry> = {}): Stored {
    this.clock += 1_370;
    const entry: Entry = {
      n: this.timeline.length + 1,
      atUs: this.clock,
      session,
      kind,
      method: null,
      id: null,
      status: "none",
      httpStatus: null,
      about: null,
      answer: null,
      durationUs: null,
      size: Buffer.byteLength(text),
      summary: null,
      ...more,
    };
    const stored = { entry, text, related: [] as number[] };
    this.timeline.push(stored);
    return stored;
  }

  private begin(session: string): void {
    this.add(session, "life", "starting the program", { summary: "starting the program" });
    this.add(session, "stderr", "", {
      summary: "listening on stdin, database orders.db",
      size: 38,
    });
    this.exchange(session, "server/discover", "{}", '{"name":"shop"}', 2140);
    for (const kind of ["tools", "resources", "prompts"]) {
      this.exchange(session, `${kind}/list`, "{}", this.listText(session, kind as ItemKind), 3120);
    }
    if (session === "s2") {
      this.add(session, "http", "", { method: "POST /mcp", httpStatus: 200, durationUs: 38_400 });
      this.add(session, "noise", "warming up…", { summary: "warming up…" });
      this.add(session, "log", "{}", { method: "warning", summary: "cache is cold \u202Erev" });
    }
  }

  private listText(session: string, kind: ItemKind): string {
    const all = items[session]?.[kind] ?? [];
    return `{"${kind}":[${all.map((item) => this.definitionText(item)).join(",")}]}`;
  }

  definitionText({ name, full, title }: Item): string {
    const head = `"name":${JSON.stringify(name)},"description":${JSON.stringify(full)}`;
    const titled = title === null ? "" : `,"title":${JSON.stringify(title)}`;
    return `{${head}${titled},"inputSchema":{"type":"object","properties":{},"maxProperties":9007199254740993}}`;
  }

  exchange(session: string, method: string, params: string, result: string, us: number): number {
    const sent = this.send(session, method, params);
    this.answer(sent, result, us);
    return sent.entry.n;
  }

  private send(session: string, method: string, params: string): Stored {
    const id = String(this.timeline.length + 1);
    const message = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
    return this.add(session, "sent", message, { method, id, status: "open" });
  }

  private answer(sent: Stored, result: string, us: number): void {
    const { id, method, n, session } = sent.entry;
    const message = `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
    const status = result.includes('"isError":true') ? "error" : "ok";
    this.clock += us;
    const got = this.add(session, "received", message, {
      method,
      id,
      status,
      about: n,
      durationUs: us,
    });
    Object.assign(sent.entry, { status, answer: got.entry.n, durationUs: us });
    sent.related.push(got.entry.n);
  }

  request(session: string, { method, params, anyway }: RequestToSend): SendOutcome {
    const name =
      stringAt(params, ["name"]) ?? stringAt(params, ["uri"]) ?? stringAt(params, ["taskId"]) ?? "";
    const args = rawAt(params, ["arguments"]) ?? "{}";
    const faults = method === "tools/call" && !anyway ? this.faultsOf(session, name, args) : [];
    if (faults.length > 0) {
      return { outcome: "refused", faults, canSendAnyway: readJson(params).node !== undefined };
    }
    const sent = this.send(session, method, params);
    if (name === "slow_report") {
      this.progress(sent, args, 1);
    } else if (name === "ask_name") {
      this.ask(sent);
    } else {
      setTimeout(() => {
        this.answer(sent, resultOf(method, name, args), 12_400);
        this.changed("timeline");
      }, 5);
    }
    this.changed("timeline");
    return { outcome: "sent", n: sent.entry.n };
  }

  private faultsOf(session: string, name: string, args: string) {
    const item = items[session]?.tools?.find((tool) => tool.name === name);
    const fields = item?.form.fields ?? [];
    const missing = fields.filter((one) => one.required && rawAt(args, [one.name]) === undefined);
    return missing.map((one) => ({
      path: `/${one.name}`,
      sentence: `The value \`${one.name}\` is missing.`,
    }));
  }

  private progress(sent: Stored, args: string, step: number): void {
    const { n, session } = sent.entry;
    if (sent.entry.status !== "open") {
      return;
    }
    if (step > 8) {
      this.answer(sent, resultOf("tools/call", "report", args), 1_900_000);
    } else {
      const message = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":${step},"total":8,"message":"Page ${step}"}}`;
      const note = this.add(session, "received", message, {
        method: "notifications/progress",
        about: n,
      });
      sent.related.push(note.entry.n);
      setTimeout(() => this.progress(sent, args, step + 1), 200);
    }
    this.changed("timeline");
  }

  private ask(sent: Stored): void {
    const { n, session } = sent.entry;
    const id = `q${this.state.inbox.length + 1}`;
    const question: Question = {
      id,
      session,
      atUs: this.clock,
      about: n,
      state: "open",
      kind: {
        kind: "form",
        message: "To whom shall the greeting go?",
        form: form([
          field("name", text, { title: "Name", required: true }),
          field("formal", { kind: "boolean" }),
        ]),
      },
    };
    this.state.inbox.unshift(question);
    this.waiting.set(id, () => {
      this.answer(sent, resultOf("tools/call", "greeting", '{"greeting":"Good day"}'), 4_200_000);
      this.changed("timeline");
    });
    this.changed("inbox");
  }

  reply(id: string, { action, content, anyway }: Answer): AnswerOutcome {
    const question = this.state.inbox.find((one) => one.id === id);
    const wait = this.waiting.get(id);
    if (!question || !wait) {
      return { outcome: "gone" };
    }
    if (action === "accept" && !anyway && stringAt(content ?? "{}", ["name"]) === undefined) {
      const faults = [{ path: "/name", sentence: "The value `name` is missing." }];
      return { outcome: "refused", faults };
    }
    const states = { accept: "accepted", decline: "declined", cancel: "cancelled" } as const;
    question.state = states[action];
    this.waiting.delete(id);
    wait();
    this.changed("inbox");
    return { outcome: "sent" };
  }

  cancel(n: number): void {
    const stored = this.timeline[n - 1];
    if (stored?.entry.status === "open") {
      stored.entry.status = "cancelled";
      this.changed("timeline");
    }
  }

  window(filter: string, from: number, count: number): TimelineWindow {
    const words = filter.split(" ").filter((word) => word !== "");
    const faults = words
      .filter((word) => /^\w+:/.test(word) && !/^(kind|status|method|session|about):/.test(word))
      .map((word) => ({ word, sentence: `There is no filter \`${word.split(":")[0]}\`.` }));
    const matching = this.timeline.filter(({ entry }) =>
      words.every((word) => matches(entry, word)),
    );
    const entries = matching.slice(from, from + count).map(({ entry }) => entry);
    const total = this.timeline.length;
    return { total, matching: matching.length, from, entries, dropped: 0, faults };
  }

  detail(n: number): EntryDetail | undefined {
    const stored = this.timeline[n - 1];
    if (!stored) {
      return undefined;
    }
    const { entry, text, related } = stored;
    const cut = 64_000;
    const http = entry.kind === "http" ? httpFacts() : null;
    return {
      entry,
      text: text.slice(0, cut),
      isCut: text.length > cut,
      isRedacted: false,
      http,
      related,
    };
  }

  runCheck(): void {
    Object.assign(this.check, {
      state: "done",
      done: 214,
      passed: 171,
      skipped: 40,
      findings: [
        finding(
          "http.origin-403",
          "error",
          "A request with a foreign Origin is answered with 200.",
        ),
        finding(
          "tools.description",
          "warning",
          "The tool `fail` has a description of 13 characters.",
        ),
        finding("cache.ttl", "note", "No list has a `ttlMs`."),
      ],
    });
    this.changed("check/s1");
  }
}

function matches(entry: Entry, word: string): boolean {
  const [name, value = ""] = word.split(":");
  switch (name) {
    case "kind":
      return entry.kind === value;
    case "status":
      return entry.status === value;
    case "method":
      return entry.method === value;
    case "session":
      return entry.session === value;
    case "about":
      return entry.about === Number(value) || entry.n === Number(value);
    default:
      return JSON.stringify(entry).includes(word);
  }
}

function httpFacts() {
  return {
    method: "POST",
    path: "/mcp",
    status: 200,
    request: [
      { name: "content-type", value: "application/json" },
      { name: "mcp-protocol-version", value: "2025-06-18" },
      { name: "authorization", value: "Bearer [hidden]" },
    ],
    response: [{ name: "content-type", value: "text/event-stream" }],
    error: null,
  };
}

function finding(check: string, severity: "error" | "warning" | "note", message: string) {
  return {
    check,
    topic: check.split(".")[0] ?? "",
    severity,
    message,
    evidence: ["POST /mcp HTTP/1.1\norigin: https://evil.example\n\nHTTP/1.1 200 OK"],
    advice: "Compare the header with a list of allowed hosts before anything else.",
    requirement: null,
    link: "https://modelcontextprotocol.io/specification/2026-07-28/basic/transports",
    revision: "2026-07-28",
  };
}
