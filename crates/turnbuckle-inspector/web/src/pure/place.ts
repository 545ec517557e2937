// The place of a person in the page: what is open and what is typed. The program keeps it as text,
// so that a reload, or a crash of the browser, loses nothing.

import type { ItemKind } from "../api/types.ts";

export type Section = ItemKind | "server" | "inbox" | "findings";
export type Theme = "system" | "light" | "dark";
export type ResultTab = "blocks" | "tree" | "raw";

export type Place = {
  session: string | undefined;
  section: Section;
  /** The open item of each `session/section`. */
  items: Record<string, string>;
  /** The filter of each `session/section`. */
  filters: Record<string, string>;
  /** The arguments typed for each `session/section/key`, the oldest first. */
  drafts: Record<string, string>;
  /** The requests sent for each `session/section/key`, the newest first. */
  runs: Record<string, number[]>;
  editor: "form" | "json" | "definition";
  result: ResultTab;
  /** `isLinked`: the drawer shows the response of each request that the page sends. */
  wire: { isOpen: boolean; filter: string; entry: number | undefined; isLinked: boolean };
  /** The milliseconds after which a request is given up; undefined for those of the program. */
  timeoutMs: number | undefined;
  sizes: { rail: number; list: number; form: number; wire: number; entry: number };
  theme: Theme;
  /** Tools that are called without a question although they are destructive. */
  trusted: string[];
};

const SECTIONS: readonly string[] = [
  "tools",
  "resources",
  "templates",
  "prompts",
  "skills",
  "tasks",
  "server",
  "inbox",
  "findings",
];

const MAX_DRAFTS = 200;
/** The program keeps at most 1 MB: characters of three bytes, and escapes, fit in. */
const MAX_DRAFT_CHARACTERS = 100_000;
const MAX_ALL_CHARACTERS = 200_000;
const MAX_RUNS = 20;

/** Returns the place of somebody who opens the page for the first time. */
export function emptyPlace(): Place {
  return {
    session: undefined,
    section: "tools",
    items: {},
    filters: {},
    drafts: {},
    runs: {},
    editor: "form",
    result: "blocks",
    wire: { isOpen: true, filter: "", entry: undefined, isLinked: true },
    timeoutMs: undefined,
    sizes: { rail: 216, list: 300, form: 0.46, wire: 240, entry: 0.42 },
    theme: "system",
    trusted: [],
  };
}

/** Reads a stored place. Parts that are missing or of another shape are those of an empty place. */
export function readPlace(text: string | null): Place {
  const empty = emptyPlace();
  let stored: unknown;
  try {
    stored = JSON.parse(text ?? "null");
  } catch {
    return empty;
  }
  if (!isRecord(stored)) {
    return empty;
  }
  const wire = isRecord(stored.wire) ? stored.wire : {};
  const sizes = isRecord(stored.sizes) ? stored.sizes : {};
  return {
    session: typeof stored.session === "string" ? stored.session : undefined,
    section: oneOf(stored.section, SECTIONS, empty.section) as Section,
    items: record(stored.items, isString),
    filters: record(stored.filters, isString),
    drafts: record(stored.drafts, isString),
    runs: record(stored.runs, isNumbers),
    editor: oneOf(stored.editor, ["form", "json", "definition"], empty.editor),
    result: oneOf(stored.result, ["blocks", "tree", "raw"], empty.result),
    wire: {
      isOpen: typeof wire.isOpen === "boolean" ? wire.isOpen : empty.wire.isOpen,
      filter: typeof wire.filter === "string" ? wire.filter : "",
      entry: typeof wire.entry === "number" ? wire.entry : undefined,
      isLinked: typeof wire.isLinked === "boolean" ? wire.isLinked : empty.wire.isLinked,
    },
    timeoutMs: typeof stored.timeoutMs === "number" ? stored.timeoutMs : undefined,
    sizes: {
      rail: between(sizes.rail, 160, 480, empty.sizes.rail),
      list: between(sizes.list, 180, 800, empty.sizes.list),
      form: between(sizes.form, 0.15, 0.85, empty.sizes.form),
      wire: between(sizes.wire, 80, 1200, empty.sizes.wire),
      entry: between(sizes.entry, 0.15, 0.85, empty.sizes.entry),
    },
    theme: oneOf(stored.theme, ["system", "light", "dark"], empty.theme),
    trusted: Array.isArray(stored.trusted) ? stored.trusted.filter(isString) : [],
  };
}

/** Returns drafts with one changed. The oldest are dropped when there are too many or too long ones. */
export function withDraft(
  drafts: Record<string, string>,
  key: string,
  text: string,
): Record<string, string> {
  const { [key]: _, ...others } = drafts;
  const kept = Object.entries(others).slice(1 - MAX_DRAFTS);
  let all = storedCharacters(text);
  const fitting = kept
    .reverse()
    .filter(([, draft]) => {
      all += storedCharacters(draft);
      return all <= MAX_ALL_CHARACTERS;
    })
    .reverse();
  return { ...Object.fromEntries(fitting), [key]: text };
}

function storedCharacters(draft: string): number {
  return draft.length <= MAX_DRAFT_CHARACTERS ? draft.length : 0;
}

/** Returns the text of a place to store. A draft that is too long is not stored. */
export function writePlace(place: Place): string {
  const drafts = Object.entries(place.drafts).filter(
    ([, text]) => text.length <= MAX_DRAFT_CHARACTERS,
  );
  return JSON.stringify({ ...place, drafts: Object.fromEntries(drafts) });
}

/** Returns the requests of an item with a new one first. */
export function withRun(runs: number[] | undefined, n: number): number[] {
  return [n, ...(runs ?? []).filter((run) => run !== n)].slice(0, MAX_RUNS);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((one) => typeof one === "number");
}

function record<T>(value: unknown, is: (one: unknown) => one is T): Record<string, T> {
  const entries = isRecord(value) ? Object.entries(value) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, T] => is(entry[1])));
}

function oneOf<T extends string>(value: unknown, values: readonly T[], otherwise: T): T {
  return values.find((one) => one === value) ?? otherwise;
}

function between(value: unknown, low: number, high: number, otherwise: number): number {
  return typeof value === "number" && value >= low && value <= high ? value : otherwise;
}
