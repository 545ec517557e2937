// A reader of JSON text that keeps the place of every value, so that a form can change one value
// and leave every other byte as it was typed.

export type JsonKind = "object" | "array" | "string" | "number" | "boolean" | "null";

export type JsonNode = {
  kind: JsonKind;
  start: number;
  end: number;
  /** The members of an object, in order, duplicates included. */
  members: JsonMember[];
  /** The items of an array. */
  items: JsonNode[];
};

export type JsonMember = {
  name: string;
  start: number;
  value: JsonNode;
};

export type JsonFault = { at: number; sentence: string };

export type JsonReading = { node: JsonNode; fault?: never } | { node?: never; fault: JsonFault };

const MAX_DEPTH = 200;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

class Stop extends Error {
  readonly at: number;
  constructor(at: number, sentence: string) {
    super(sentence);
    this.at = at;
  }
}

class Reader {
  private at = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  document(): JsonNode {
    this.space();
    const node = this.value(0);
    this.space();
    if (this.at < this.text.length) {
      throw new Stop(this.at, "text follows the value");
    }
    return node;
  }

  private value(depth: number): JsonNode {
    if (depth > MAX_DEPTH) {
      throw new Stop(this.at, `the value is nested more than ${MAX_DEPTH} deep`);
    }
    const start = this.at;
    const first = this.text[start];
    if (first === "{") {
      return this.object(depth);
    }
    if (first === "[") {
      return this.array(depth);
    }
    if (first === '"') {
      this.string();
      return leaf("string", start, this.at);
    }
    for (const word of ["true", "false", "null"] as const) {
      if (this.text.startsWith(word, start)) {
        this.at += word.length;
        return leaf(word === "null" ? "null" : "boolean", start, this.at);
      }
    }
    if (this.match(NUMBER)) {
      return leaf("number", start, this.at);
    }
    throw new Stop(start, first === undefined ? "a value is missing" : "this is not a JSON value");
  }

  private object(depth: number): JsonNode {
    const node: JsonNode = { kind: "object", start: this.at, end: 0, members: [], items: [] };
    this.list("}", () => {
      const start = this.at;
      if (this.text[start] !== '"') {
        throw new Stop(start, "a name in quotes is missing");
      }
      const name = decodeString(this.string());
      this.space();
      if (this.text[this.at] !== ":") {
        throw new Stop(this.at, "a colon is missing");
      }
      this.at += 1;
      this.space();
      node.members.push({ name, start, value: this.value(depth + 1) });
    });
    node.end = this.at;
    return node;
  }

  private array(depth: number): JsonNode {
    const node: JsonNode = { kind: "array", start: this.at, end: 0, members: [], items: [] };
    this.list("]", () => {
      node.items.push(this.value(depth + 1));
    });
    node.end = this.at;
    return node;
  }

  private list(close: "}" | "]", read: () => void): void {
    this.at += 1;
    this.space();
    if (this.text[this.at] === close) {
      this.at += 1;
      return;
    }
    for (;;) {
      read();
      this.space();
      const next = this.text[this.at];
      if (next !== "," && next !== close) {
        throw new Stop(this.at, `a comma or ${close} is missing`);
      }
      this.at += 1;
      if (next === close) {
        return;
      }
      this.space();
    }
  }

  private string(): string {
    const start = this.at;
    this.at += 1;
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code === QUOTE) {
        this.at += 1;
        return this.text.slice(start, this.at);
      }
      if (code === BACKSLASH) {
        if (!this.match(ESCAPE)) {
          throw new Stop(this.at, "JSON has no such escape");
        }
      } else if (code >= SPACE) {
        this.at += 1;
      } else {
        const isEnd = Number.isNaN(code);
        throw new Stop(
          isEnd ? start : this.at,
          isEnd ? "the string does not end" : "a control character must be escaped",
        );
      }
    }
  }

  private match(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) {
      return false;
    }
    this.at += found[0].length;
    return true;
  }

  private space(): void {
    while (" \t\n\r".includes(this.text[this.at] ?? "x")) {
      this.at += 1;
    }
  }
}

function leaf(kind: JsonKind, start: number, end: number): JsonNode {
  return { kind, start, end, members: [], items: [] };
}

/** Reads a JSON text. */
export function readJson(text: string): JsonReading {
  try {
    return { node: new Reader(text).document() };
  } catch (error) {
    if (error instanceof Stop) {
      return { fault: { at: error.at, sentence: error.message } };
    }
    throw error;
  }
}

/** Returns the text of a JSON string. A string has one meaning, so that nothing is lost. */
export function decodeString(raw: string): string {
  return JSON.parse(raw) as string;
}

/** Returns the JSON string of a text. */
export function encodeString(text: string): string {
  return JSON.stringify(text);
}

/** Returns true if the whole text is one JSON number. */
export function isNumber(text: string): boolean {
  NUMBER.lastIndex = 0;
  return NUMBER.exec(text)?.[0].length === text.length && text.length > 0;
}

/** Returns the line and column, both from 1, of an offset. */
export function lineAndColumn(text: string, at: number): { line: number; column: number } {
  const before = text.slice(0, at);
  const line = before.split("\n").length;
  return { line, column: at - before.lastIndexOf("\n") };
}
