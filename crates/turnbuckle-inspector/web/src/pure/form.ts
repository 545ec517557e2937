// How the fields of a form write and show the JSON text of their values.

import type { Field, FieldKind } from "../api/types.ts";
import { decodeString, encodeString, isNumber, type JsonNode, readJson } from "./json.ts";

/** The JSON text that a new value of a kind begins with. */
export function startValue(kind: FieldKind): string {
  switch (kind.kind) {
    case "number":
    case "integer":
      return "0";
    case "boolean":
      return "false";
    case "choice":
      return kind.choices[0]?.value ?? "null";
    case "list":
      return "[]";
    case "object":
      return "{}";
    case "union": {
      const first = kind.variants[0];
      return first ? startValue(first.field.kind) : "null";
    }
    case "raw":
      return "null";
    case "text":
    case "date":
    case "file":
      return '""';
  }
}

/** The JSON text for what was typed: a number as it was typed, anything else as a string. */
export function typedValue(kind: FieldKind["kind"], typed: string): string {
  const isNumeric = kind === "number" || kind === "integer";
  return isNumeric && isNumber(typed) ? typed : encodeString(typed);
}

/** What a text field shows for a JSON text: a string decoded, anything else as it is. */
export function shownValue(raw: string | undefined): string {
  if (raw === undefined) {
    return "";
  }
  return raw.startsWith('"') ? decodeString(raw) : raw;
}

/** A remark for a value of another kind than the field's, which a text field would hide. */
export function kindRemark(kind: FieldKind["kind"], raw: string | undefined): string | undefined {
  if (raw === undefined) {
    return undefined;
  }
  const isString = raw.startsWith('"');
  if (kind === "number" || kind === "integer") {
    return isString ? "sent as text" : undefined;
  }
  const isText = kind === "text" || kind === "date" || kind === "file";
  return isText && !isString ? `sent as ${kindOf(raw)}, not as text` : undefined;
}

function kindOf(raw: string): string {
  switch (raw[0]) {
    case "{":
      return "an object";
    case "[":
      return "a list";
    case "t":
    case "f":
      return "true or false";
    case "n":
      return "null";
    default:
      return "a number";
  }
}

/** Returns the variant of a union that a value looks like. */
export function variantOf(variants: readonly { field: Field }[], raw: string | undefined): number {
  const node = raw === undefined ? undefined : readJson(raw).node;
  if (!node) {
    return 0;
  }
  const scores = variants.map(({ field }) => scoreMatch(field.kind, node, raw ?? ""));
  return Math.max(0, scores.indexOf(Math.max(...scores)));
}

function scoreMatch(kind: FieldKind, node: JsonNode, raw: string): number {
  switch (kind.kind) {
    case "text":
    case "date":
    case "file":
      return node.kind === "string" ? 2 : 0;
    case "number":
      return node.kind === "number" ? 2 : 0;
    case "integer":
      return node.kind === "number" ? (/^-?\d+$/.test(raw) ? 3 : 1) : 0;
    case "boolean":
      return node.kind === "boolean" ? 2 : 0;
    case "choice":
      return kind.choices.some((choice) => choice.value === raw) ? 4 : 0;
    case "list":
      return node.kind === "array" ? 2 : 0;
    case "object":
      return node.kind === "object" ? 1 + scoreMembers(kind.fields, node, raw) : 0;
    case "union":
      return Math.max(0, ...kind.variants.map(({ field }) => scoreMatch(field.kind, node, raw)));
    case "raw":
      return 0.5;
  }
}

/** Returns the part of the members that the fields name; a constant that differs counts against. */
function scoreMembers(fields: readonly Field[], node: JsonNode, raw: string): number {
  const scores: number[] = node.members.map(({ name, value }) => {
    const field = fields.find((one) => one.name === name);
    if (!field) {
      return 0;
    }
    const isChoice = field.kind.kind === "choice";
    return scoreMatch(field.kind, value, raw.slice(value.start, value.end)) > 0
      ? 1
      : isChoice
        ? -1
        : 0.5;
  });
  const sum = scores.reduce((all, one) => all + one, 0);
  return node.members.length === 0 ? 0 : sum / node.members.length;
}

/** Returns the names of members that no field shows. */
export function otherMembers(fields: readonly Field[], node: JsonNode | undefined): string[] {
  const names = new Set(fields.map((field) => field.name));
  return node?.members.filter((member) => !names.has(member.name)).map(({ name }) => name) ?? [];
}
