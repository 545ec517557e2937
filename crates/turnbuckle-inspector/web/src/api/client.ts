// Requests to the program that serves this page.

import type {
  Answer,
  AnswerOutcome,
  AutomaticAnswers,
  Blocks,
  CheckRun,
  Completion,
  CompletionRequest,
  CopyFormat,
  EntryDetail,
  InspectorState,
  ItemDefinition,
  ItemKind,
  ItemsWindow,
  Matches,
  OpenSource,
  RequestToSend,
  SendOutcome,
  TextPiece,
  TimelineWindow,
  ValueRows,
} from "./types.ts";

/** A refusal of the program, or a failure to reach it (status 0). */
export class ApiError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

type Query = Record<string, string | number | string[] | undefined>;

async function send(method: string, path: string, body?: string): Promise<Response> {
  let response: Response;
  try {
    const init: RequestInit = { method, credentials: "same-origin" };
    if (body !== undefined) {
      init.body = body;
      init.headers = { "Content-Type": "application/json" };
    }
    response = await fetch(`/api${path}`, init);
  } catch {
    throw new ApiError(0, "turnbuckle does not answer. Is it still running?");
  }
  if (!response.ok) {
    throw new ApiError(response.status, await reason(response));
  }
  return response;
}

async function reason(response: Response): Promise<string> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    if (typeof error === "string") {
      return error;
    }
  } catch {
    // The answer is not JSON: its text is the reason.
  }
  return text.slice(0, 500) || `turnbuckle answered with status ${response.status}`;
}

async function get<T>(path: string, query: Query = {}): Promise<T> {
  const parts = Object.entries(query).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => `${name}=${encodeURIComponent(one)}`),
  );
  const response = await send("GET", parts.length > 0 ? `${path}?${parts.join("&")}` : path);
  return (await response.json()) as T;
}

async function post<T>(path: string, body: unknown = {}): Promise<T> {
  const response = await send("POST", path, JSON.stringify(body));
  const text = await response.text();
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

const part = encodeURIComponent;

/** A place in an entry of the timeline: the whole message, or a range of its bytes. */
export type ValueSource = { n: number; at?: string | undefined };

/** The values of a tree that are open: those above a depth, but for the paths that are toggled. */
export type OpenValues = { depth: number; toggled: Set<string> };

export const api = {
  login: (code: string) => post<void>("/login", { code }),
  state: () => get<InspectorState>("/state"),
  agree: (name: string, digest: string) => post<void>(`/servers/${part(name)}/consent`, { digest }),
  open: (source: OpenSource) => post<{ id: string }>("/sessions", source),
  session: (id: string, action: "restart" | "close" | "refresh" | "login") =>
    post<void>(`/sessions/${part(id)}/${action}`),
  items: (id: string, kind: ItemKind, filter: string, from: number, count: number) =>
    get<ItemsWindow>(`/sessions/${part(id)}/items/${kind}`, { filter, from, count }),
  item: (id: string, kind: ItemKind, key: string) =>
    get<ItemDefinition>(`/sessions/${part(id)}/items/${kind}/${part(key)}`),
  request: (id: string, request: RequestToSend) =>
    post<SendOutcome>(`/sessions/${part(id)}/requests`, request),
  cancel: (id: string, n: number) => post<void>(`/sessions/${part(id)}/requests/${n}/cancel`),
  subscribe: (id: string, uri: string) =>
    post<void>(`/sessions/${part(id)}/subscriptions`, { uri }),
  unsubscribe: (id: string, uri: string) =>
    send("DELETE", `/sessions/${part(id)}/subscriptions/${part(uri)}`),
  logLevel: (id: string, level: string) => post<void>(`/sessions/${part(id)}/log-level`, { level }),
  setAutomatic: (id: string, answers: AutomaticAnswers) =>
    post<void>(`/sessions/${part(id)}/automatic`, answers),
  expand: async (id: string, template: string, args: string) =>
    (await post<{ uri: string }>(`/sessions/${part(id)}/expand`, { template, arguments: args }))
      .uri,
  complete: (id: string, request: CompletionRequest) =>
    post<Completion>(`/sessions/${part(id)}/complete`, request),
  startCheck: (id: string) => post<void>(`/sessions/${part(id)}/check`),
  check: (id: string) => get<CheckRun>(`/sessions/${part(id)}/check`),
  timeline: (filter: string, from: number, count: number) =>
    get<TimelineWindow>("/timeline", { filter, from, count }),
  entry: (n: number) => get<EntryDetail>(`/timeline/${n}`),
  rows: ({ n, at }: ValueSource, { depth, toggled }: OpenValues, from: number, count: number) =>
    get<ValueRows>(`/timeline/${n}/rows`, { depth, from, count, at, toggle: [...toggled] }),
  rowOf: async ({ n, at }: ValueSource, { depth, toggled }: OpenValues, path: string) =>
    (
      await get<{ index: number | null }>(`/timeline/${n}/row`, {
        depth,
        at,
        path,
        toggle: [...toggled],
      })
    ).index,
  search: ({ n, at }: ValueSource, text: string, from: number) =>
    get<Matches>(`/timeline/${n}/search`, { text, from, at }),
  blocks: (n: number, from: number, count: number) =>
    get<Blocks>(`/timeline/${n}/blocks`, { from, count }),
  textOf: (n: number, block: string, from: number) =>
    get<TextPiece>(`/timeline/${n}/text`, { block, from }),
  raw: async ({ n, at }: ValueSource) => {
    const query = at === undefined ? "" : `?at=${part(at)}`;
    return (await send("GET", `/timeline/${n}/raw${query}`)).text();
  },
  blob: async (n: number, path: string) =>
    new Uint8Array(await (await send("GET", `/timeline/${n}/blob/${part(path)}`)).arrayBuffer()),
  copy: async (n: number, as: CopyFormat) =>
    (await send("GET", `/timeline/${n}/copy?as=${as}`)).text(),
  answer: (id: string, answer: Answer) => post<AnswerOutcome>(`/inbox/${part(id)}`, answer),
  storePlace: (text: string) => send("PUT", "/place", text),
};

/** Returns the address of the bytes of an image or a sound. */
export function blobAddress(n: number, path: string): string {
  return `/api/timeline/${n}/blob/${part(path)}`;
}

/** Returns the address at which a message or a value is downloaded. */
export function rawAddress({ n, at }: ValueSource): string {
  return `/api/timeline/${n}/raw${at === undefined ? "" : `?at=${part(at)}`}`;
}

/** Returns the address at which the findings of a server are downloaded. */
export function checkAddress(id: string): string {
  return `/api/sessions/${part(id)}/check`;
}
