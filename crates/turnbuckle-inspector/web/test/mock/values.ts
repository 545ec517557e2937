// Views of JSON texts, as the engine gives them.

import type {
  Block,
  Blocks,
  Matches,
  ValueKind,
  ValueRow,
  ValueRows,
} from "../../src/api/types.ts";
import { findNode, rawAt, stringAt } from "../../src/pure/edit.ts";
import { type JsonNode, readJson as readText } from "../../src/pure/json.ts";

let last: { text: string; reading: ReturnType<typeof readText> } | undefined;

/** Reads a text; the last big one is kept. */
function readJson(text: string): ReturnType<typeof readText> {
  if (text.length < 1_000_000) {
    return readText(text);
  }
  if (last?.text !== text) {
    last = { text, reading: readText(text) };
  }
  return last.reading;
}

const MAX = 2000;
const PIECE = 64_000;

function excerpt(text: string): { text: string; cut: number | null } {
  return { text: text.slice(0, MAX), cut: text.length > MAX ? text.length : null };
}

type Child = { node: JsonNode; key: string | null; isDuplicate: boolean };

function children(text: string, node: JsonNode): Child[] {
  if (node.kind === "array") {
    return node.items.map((item) => ({ node: item, key: null, isDuplicate: false }));
  }
  const names = new Map<string, number>();
  for (const { name } of node.members) {
    names.set(name, (names.get(name) ?? 0) + 1);
  }
  return node.members.map((member) => {
    const key = text.slice(member.start, member.value.start).replace(/\s*:\s*$/, "");
    return { node: member.value, key, isDuplicate: (names.get(member.name) ?? 0) > 1 };
  });
}

/** Returns the text of a range `START-END`, or of the value at a path such as `1.0`. */
export function textAt(text: string, at: string | null): string {
  if (at === null) {
    return text;
  }
  const range = /^(\d+)-(\d+)$/.exec(at);
  if (range) {
    return text.slice(Number(range[1]), Number(range[2]));
  }
  let node = readJson(text).node;
  const steps = at === "" ? [] : at.split(".").map(Number);
  for (const index of steps) {
    node = node && (node.kind === "array" ? node.items[index] : node.members[index]?.value);
  }
  return node ? text.slice(node.start, node.end) : "";
}

export function rows(
  text: string,
  open: { depth: number; toggled: Set<string> },
  from: number,
  count: number,
): ValueRows {
  const { node, fault } = readJson(text);
  const found: ValueRow[] = [];
  let total = 0;
  const visit = (child: Child, path: string, depth: number) => {
    const inner = children(text, child.node);
    const isOpen = depth < open.depth !== open.toggled.has(path) && inner.length > 0;
    const isHolder = child.node.kind === "object" || child.node.kind === "array";
    if (total >= from && total < from + count) {
      const raw = text.slice(child.node.start, child.node.end);
      found.push({
        path,
        depth,
        key: child.key === null ? null : excerpt(child.key),
        isDuplicate: child.isDuplicate,
        kind: child.node.kind as ValueKind,
        text: isHolder ? null : excerpt(raw),
        children: inner.length,
        size: raw.length,
        isOpen,
      });
    }
    total += 1;
    if (isOpen) {
      inner.forEach((one, index) => {
        visit(one, path === "" ? String(index) : `${path}.${index}`, depth + 1);
      });
    }
  };
  if (node) {
    visit({ node, key: null, isDuplicate: false }, "", 0);
  }
  const jsonFault = fault ? { at: fault.at, sentence: fault.sentence } : null;
  return { total, from, rows: found, fault: jsonFault };
}

export function search(text: string, wanted: string): Matches {
  const { node } = readJson(text);
  const matches: Matches["matches"] = [];
  const visit = (at: JsonNode, path: string) => {
    children(text, at).forEach((child, index) => {
      const next = path === "" ? String(index) : `${path}.${index}`;
      const isKey = child.key?.includes(wanted) ?? false;
      const raw = text.slice(child.node.start, child.node.end);
      const isLeaf = child.node.items.length === 0 && child.node.members.length === 0;
      if (matches.length < 100 && (isKey || (isLeaf && raw.includes(wanted)))) {
        matches.push({ path: next, at: child.node.start, isKey });
      }
      visit(child.node, next);
    });
  };
  if (node) {
    visit(node, "");
  }
  return { matches, next: null };
}

export function blocks(text: string, from: number, count: number): Blocks {
  const root = readJson(text).node;
  const list = (["content", "contents", "messages"] as const).find((name) =>
    root ? findNode(root, ["result", name]) : undefined,
  );
  const node = root && list && findNode(root, ["result", list]);
  const resultIndex = root?.members.findIndex((member) => member.name === "result") ?? 0;
  const result = root?.members[resultIndex]?.value;
  const listIndex = result?.members.findIndex((member) => member.name === list) ?? 0;
  const prefix = `${resultIndex}.${listIndex}`;
  const all = node?.items ?? [];
  const part = all.slice(from, from + count).map((item, index): Block => {
    return block(text.slice(item.start, item.end), `${prefix}.${from + index}`);
  });
  const structured =
    result?.members.findIndex((member) => member.name === "structuredContent") ?? -1;
  return {
    total: all.length,
    from,
    blocks: part,
    isError: rawAt(text, ["result", "isError"]) === "true",
    structured: structured >= 0 ? `${resultIndex}.${structured}` : null,
  };
}

/** Returns a piece of the text of the block at a path. */
export function textPiece(text: string, path: string, from: number) {
  const raw = textAt(text, path);
  const inner = rawAt(raw, ["content"]) ?? raw;
  const whole = stringAt(inner, ["text"]) ?? "";
  const next = whole.length > from + PIECE ? from + PIECE : null;
  return { text: whole.slice(from, from + PIECE), next };
}

function block(raw: string, path: string): Block {
  const role = stringAt(raw, ["role"]) ?? null;
  const inner = role === null ? raw : (rawAt(raw, ["content"]) ?? "{}");
  const at = (name: string) => stringAt(inner, [name]) ?? null;
  const annotations = rawAt(inner, ["annotations"]) ?? null;
  const whole = at("text");
  const data = at("data") ?? at("blob");
  const facts = { mime: at("mimeType"), uri: at("uri") };
  if (whole !== null) {
    const piece = textPiece(raw, "", 0);
    return { path, role, annotations, content: { kind: "text", ...piece, ...facts } };
  }
  if (data !== null) {
    const size = Math.floor((data.length * 3) / 4);
    return {
      path,
      role,
      annotations,
      content: { kind: "blob", blob: `${path}.1`, size, ...facts },
    };
  }
  if (at("type") === "resource_link") {
    const content = {
      kind: "link" as const,
      uri: at("uri") ?? "",
      name: at("name"),
      title: at("title"),
      description: at("description"),
      mime: at("mimeType"),
    };
    return { path, role, annotations, content };
  }
  return { path, role, annotations, content: { kind: "other" } };
}
