// Characters that a reader does not see, or that change what a reader sees: control characters,
// terminal sequences, bidirectional and zero-width characters.

export type MarkKind = "control" | "ansi" | "bidi" | "zero-width";
export type Piece = { text: string; mark?: { kind: MarkKind; label: string; title: string } };

// Sequences for terminals, then all characters without a shape of their own. Tabs and ends of lines
// are text, and U+FE0E and U+FE0F belong to the emoji before them.
const HIDDEN = new RegExp(
  String.raw`\x1b\[[0-?]*[ -/]*[@-~]|(?![\t\n\ufe0e\ufe0f])` +
    String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]`,
  "gu",
);

const NAMES: Record<string, string> = {
  "0": "NUL",
  "7": "BEL",
  "8": "BS",
  d: "CR",
  "1b": "ESC",
  "7f": "DEL",
  ad: "SHY",
  "61c": "ALM",
  "200b": "ZWSP",
  "200c": "ZWNJ",
  "200d": "ZWJ",
  "200e": "LRM",
  "200f": "RLM",
  "202a": "LRE",
  "202b": "RLE",
  "202c": "PDF",
  "202d": "LRO",
  "202e": "RLO",
  "2060": "WJ",
  "2066": "LRI",
  "2067": "RLI",
  "2068": "FSI",
  "2069": "PDI",
  feff: "BOM",
};

const BIDI = new Set([
  0x61c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069,
]);

/** Splits a text at its hidden characters. Joined together, the texts of the pieces are the text. */
export function markHidden(text: string): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > end) {
      pieces.push({ text: text.slice(end, match.index) });
    }
    end = match.index + match[0].length;
    pieces.push({ text: match[0], mark: describe(match[0]) });
  }
  if (end < text.length) {
    pieces.push({ text: text.slice(end) });
  }
  return pieces;
}

function describe(found: string): { kind: MarkKind; label: string; title: string } {
  if (found.length > 1 && found.startsWith("\u001b")) {
    return { kind: "ansi", label: `ESC${found.slice(1)}`, title: "A sequence for a terminal" };
  }
  const code = found.codePointAt(0) ?? 0;
  const hex = code.toString(16);
  const point = `U+${hex.toUpperCase().padStart(4, "0")}`;
  const label = NAMES[hex] ?? point;
  if (BIDI.has(code)) {
    return { kind: "bidi", label, title: `${point} changes the direction of the text` };
  }
  if (code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0xd800 && code < 0xe000)) {
    const what = code < 0xa0 ? "a control character" : "half of a surrogate pair";
    return { kind: "control", label, title: `${point}, ${what}` };
  }
  return { kind: "zero-width", label, title: `${point} has no width` };
}
