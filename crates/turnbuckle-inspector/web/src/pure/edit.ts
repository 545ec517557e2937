// Changes of one value in a JSON text. Every other byte stays.

import { decodeString, encodeString, type JsonNode, readJson } from "./json.ts";

export type JsonPath = readonly (string | number)[];

/** Returns the node at a path; of members with the same name the last one. */
export function findNode(node: JsonNode, path: JsonPath): JsonNode | undefined {
  let found: JsonNode | undefined = node;
  for (const part of path) {
    found =
      typeof part === "number"
        ? found?.items[part]
        : found?.members.findLast((member) => member.name === part)?.value;
  }
  return found;
}

/** Returns the number of members with a name. */
export function countMembers(node: JsonNode | undefined, name: string): number {
  return node?.members.filter((member) => member.name === name).length ?? 0;
}

/** Returns the JSON text of the value at a path. */
export function rawAt(text: string, path: JsonPath): string | undefined {
  const node = readJson(text).node;
  const found = node && findNode(node, path);
  return found && text.slice(found.start, found.end);
}

/** Returns the string at a path, decoded, or undefined if another kind of value is there. */
export function stringAt(text: string, path: JsonPath): string | undefined {
  const raw = rawAt(text, path);
  return raw?.startsWith('"') ? decodeString(raw) : undefined;
}

/**
 * Sets the value at a path. Objects and arrays on the way are made if they are missing. Returns the
 * text unchanged if it is not JSON.
 */
export function setValue(text: string, path: JsonPath, raw: string): string {
  const root = readJson(text).node;
  if (!root) {
    return text;
  }
  const found = findNode(root, path);
  if (found) {
    return text.slice(0, found.start) + raw + text.slice(found.end);
  }
  const parent = path.slice(0, -1);
  const last = path.at(-1);
  if (last === undefined) {
    return raw;
  }
  const holder = findNode(root, parent);
  const kind = typeof last === "number" ? "array" : "object";
  if (holder?.kind !== kind) {
    const value = typeof last === "number" ? `[${raw}]` : `{${encodeString(last)}: ${raw}}`;
    return setValue(text, parent, value);
  }
  return insert(text, holder, typeof last === "number" ? raw : `${encodeString(last)}: ${raw}`);
}

/** Removes the value at a path, with its name and one comma; of a repeated name the last one. */
export function removeValue(text: string, path: JsonPath): string {
  const root = readJson(text).node;
  const last = path.at(-1);
  const holder = root && findNode(root, path.slice(0, -1));
  if (!holder || last === undefined) {
    return text;
  }
  const parts =
    typeof last === "number"
      ? holder.items
      : holder.members.map((member) => ({ start: member.start, end: member.value.end }));
  const index =
    typeof last === "number" ? last : holder.members.findLastIndex((one) => one.name === last);
  const part = parts[index];
  if (!part) {
    return text;
  }
  const before = parts[index - 1];
  const after = parts[index + 1];
  if (before) {
    return text.slice(0, before.end) + text.slice(part.end);
  }
  if (after) {
    return text.slice(0, part.start) + text.slice(after.start);
  }
  return text.slice(0, holder.start + 1) + text.slice(holder.end - 1);
}

/** Adds a member or an item at the end of its holder, laid out as the holder is. */
function insert(text: string, holder: JsonNode, part: string): string {
  const open = text[holder.start];
  const close = text[holder.end - 1];
  const last = holder.members.at(-1)?.value.end ?? holder.items.at(-1)?.end;
  if (last === undefined) {
    const outer = indentAt(text, holder.start);
    const inside = `\n${outer}  ${part}\n${outer}`;
    return `${text.slice(0, holder.start)}${open}${inside}${close}${text.slice(holder.end)}`;
  }
  const first = holder.members[0]?.start ?? holder.items[0]?.start ?? holder.start;
  const gap = text.slice(holder.start + 1, first);
  const separator = gap.includes("\n") ? `,${gap}` : ", ";
  return text.slice(0, last) + separator + part + text.slice(last);
}

function indentAt(text: string, at: number): string {
  const line = text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
  return /^\s*/.exec(line)?.[0] ?? "";
}

/** Returns a JSON pointer of a path, as faults name places. */
export function toPointer(path: JsonPath): string {
  return path
    .map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`)
    .join("");
}

/** Formats a JSON text with two spaces for each level. Numbers, names and escapes stay. */
export function formatJson(text: string): string {
  const root = readJson(text).node;
  return root ? write(text, root, "") : text;
}

function write(text: string, node: JsonNode, indent: string): string {
  const inner = `${indent}  `;
  if (node.kind === "object" && node.members.length > 0) {
    const members = node.members.map((member) => {
      const name = text.slice(member.start, nameEnd(text, member.start) + 1);
      return `${inner}${name}: ${write(text, member.value, inner)}`;
    });
    return `{\n${members.join(",\n")}\n${indent}}`;
  }
  if (node.kind === "array" && node.items.length > 0) {
    const items = node.items.map((item) => `${inner}${write(text, item, inner)}`);
    return `[\n${items.join(",\n")}\n${indent}]`;
  }
  const raw = text.slice(node.start, node.end);
  return node.kind === "object" ? "{}" : node.kind === "array" ? "[]" : raw;
}

/** Returns the offset of the quote that ends a name. */
function nameEnd(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') {
    at += text[at] === "\\" ? 2 : 1;
  }
  return at;
}
