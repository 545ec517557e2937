// The parameters of the request that uses an item.

import type { ItemKind } from "../../api/types.ts";
import { findNode, rawAt } from "../../pure/edit.ts";
import { encodeString, readJson } from "../../pure/json.ts";

const NAMES: Record<ItemKind, string> = {
  tools: "Call",
  resources: "Read",
  templates: "Read",
  prompts: "Get",
  skills: "Read",
  tasks: "Get",
};

/** Returns the verb of the button that sends the request. */
export function requestName(kind: ItemKind): string {
  return NAMES[kind];
}

/** Returns the parameters as JSON text. The text of the arguments is taken over byte for byte. */
export function paramsOf(kind: ItemKind, name: string, args: string): string {
  switch (kind) {
    case "tools":
    case "prompts":
      return `{"name":${encodeString(name)},"arguments":${args}}`;
    case "resources":
    case "skills":
      return `{"uri":${encodeString(name)}}`;
    case "templates":
      return `{"uri":${encodeString(expandTemplate(name, args))}}`;
    case "tasks":
      return `{"taskId":${encodeString(name)}}`;
  }
}

const EXPRESSION = /\{([+#./;?&]?)([^{}]+)\}/g;

type Operator = {
  first: string;
  separator: string;
  isNamed: boolean;
  empty: string;
  isReserved: boolean;
};

const OPERATORS: Record<string, Operator> = {
  "": { first: "", separator: ",", isNamed: false, empty: "", isReserved: false },
  "+": { first: "", separator: ",", isNamed: false, empty: "", isReserved: true },
  "#": { first: "#", separator: ",", isNamed: false, empty: "", isReserved: true },
  ".": { first: ".", separator: ".", isNamed: false, empty: "", isReserved: false },
  "/": { first: "/", separator: "/", isNamed: false, empty: "", isReserved: false },
  ";": { first: ";", separator: ";", isNamed: true, empty: "", isReserved: false },
  "?": { first: "?", separator: "&", isNamed: true, empty: "=", isReserved: false },
  "&": { first: "&", separator: "&", isNamed: true, empty: "=", isReserved: false },
};

/** Returns the URI of a template (RFC 6570) with the values of a JSON object of arguments. */
export function expandTemplate(template: string, args: string): string {
  return template.replace(EXPRESSION, (_, sign: string, list: string) => {
    const operator = OPERATORS[sign] as Operator;
    const parts = list.split(",").flatMap((spec) => {
      const { 1: name = "", 2: star, 3: prefix } = /^([^*:]+)(\*)?(?::(\d+))?$/.exec(spec) ?? [];
      return expandVariable(operator, name, valuesAt(args, name), star !== undefined, prefix);
    });
    return parts.length > 0 ? operator.first + parts.join(operator.separator) : "";
  });
}

function expandVariable(
  operator: Operator,
  name: string,
  values: string[],
  isExploded: boolean,
  prefix: string | undefined,
): string[] {
  const encoded = values.map((value) => {
    const cut = prefix === undefined ? value : [...value].slice(0, Number(prefix)).join("");
    return encode(cut, operator.isReserved);
  });
  if (encoded.length === 0) {
    return [];
  }
  const parts = isExploded ? encoded : [encoded.join(",")];
  return operator.isNamed
    ? parts.map((part) => (part === "" ? name + operator.empty : `${name}=${part}`))
    : parts;
}

function valuesAt(args: string, name: string): string[] {
  const root = readJson(args).node;
  const node = root && findNode(root, [name]);
  const raws =
    node?.kind === "array"
      ? node.items.map((item) => args.slice(item.start, item.end))
      : [rawAt(args, [name])];
  return raws
    .filter((raw) => raw !== undefined && raw !== "null")
    .map((raw) => (raw?.startsWith('"') ? (JSON.parse(raw) as string) : (raw ?? "")));
}

function encode(value: string, isReserved: boolean): string {
  const all = encodeURIComponent(value).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return isReserved ? encodeURI(value).replace(/%25([0-9A-Fa-f]{2})/g, "%$1") : all;
}
