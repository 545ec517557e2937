import { describe, expect, it } from "vitest";
import { clock, count, duration, plural, size } from "../../src/pure/format.ts";
import { rank } from "../../src/pure/fuzzy.ts";
import { hexDump } from "../../src/pure/hex.ts";
import { comboOf, showCombo } from "../../src/pure/keys.ts";
import { markHidden } from "../../src/pure/marks.ts";
import { MAX_HEIGHT, scrollToRow, visibleRows } from "../../src/pure/scroll.ts";

describe("format", () => {
  it("shows counts, times and sizes", () => {
    expect([count(999), count(1000), count(1_234_567)]).toEqual(["999", "1,000", "1,234,567"]);
    expect([duration(900), duration(9949), duration(12_400), duration(1_234_000)]).toEqual([
      "0.9 ms",
      "9.9 ms",
      "12 ms",
      "1,234 ms",
    ]);
    expect([size(999), size(1000), size(9949), size(10_000), size(999_600)]).toEqual([
      "999 B",
      "1.0 kB",
      "9.9 kB",
      "10 kB",
      "1.0 MB",
    ]);
    expect([clock(62_345_678), clock(3_602_345_000)]).toEqual(["1:02.345", "1:00:02.345"]);
    expect([plural(1, "tool"), plural(2, "tool")]).toEqual(["1 tool", "2 tools"]);
  });
});

describe("markHidden", () => {
  const labels = (text: string) =>
    markHidden(text).flatMap(({ mark }) => (mark ? [mark.label] : []));

  it("marks control, bidirectional and zero-width characters", () => {
    expect(labels("a\u202Eb\u200Bc\u0007\u001b[31md\u0000\ud800")).toEqual([
      "RLO",
      "ZWSP",
      "BEL",
      "ESC[31m",
      "NUL",
      "U+D800",
    ]);
  });

  it("leaves text, ends of lines and emoji alone", () => {
    expect(markHidden("é 漢字 😀 ❤️\n\tx")).toEqual([{ text: "é 漢字 😀 ❤️\n\tx" }]);
  });

  it("keeps the text", () => {
    const text = "x\u202E\u001b[1my\u{e0041}";
    expect(
      markHidden(text)
        .map((piece) => piece.text)
        .join(""),
    ).toBe(text);
  });
});

describe("visibleRows", () => {
  it("renders the rows in view and a few more", () => {
    const rows = visibleRows({ scrollTop: 2000, viewport: 400, rowHeight: 20, total: 1000 });
    expect(rows).toEqual({ from: 94, to: 126, offset: 1880, height: 20_000 });
  });

  it("reaches the first and the last of a million rows in a bounded height", () => {
    const view = { viewport: 400, rowHeight: 42, total: 1_000_000 };
    const last = visibleRows({ ...view, scrollTop: MAX_HEIGHT - 400 });
    expect(last.height).toBe(MAX_HEIGHT);
    expect(last.to).toBe(1_000_000);
    expect(last.offset + (last.to - last.from) * 42).toBeCloseTo(MAX_HEIGHT, 3);
    expect(visibleRows({ ...view, scrollTop: 0 }).from).toBe(0);
  });

  it("has a row in view after scrollToRow", () => {
    const view = { scrollTop: 0, viewport: 400, rowHeight: 42, total: 1_000_000 };
    for (const row of [0, 3, 500_000, 999_999]) {
      const rows = visibleRows({ ...view, scrollTop: scrollToRow(view, row) });
      expect(rows.from <= row && row < rows.to).toBe(true);
    }
    expect(scrollToRow({ ...view, total: 100, scrollTop: 10 }, 1)).toBe(10);
  });
});

describe("keys", () => {
  const press = (key: string, more = {}) =>
    comboOf({ key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...more });

  it("names combinations", () => {
    expect(press("k", { ctrlKey: true })).toBe("Mod+K");
    expect(press("?", { shiftKey: true })).toBe("?");
    expect(press("F6", { shiftKey: true })).toBe("Shift+F6");
    expect(press("w")).toBe("W");
    expect(press("W", { shiftKey: true })).toBe("Shift+W");
  });

  it("shows them as they stand on the keyboard", () => {
    expect(showCombo("Mod+Enter", false)).toBe("Ctrl+↵");
    expect(showCombo("Mod+Enter", true)).toBe("⌘↵");
  });
});

it("rank puts matches at the start of a word first, and drops others", () => {
  const texts = ["Restart shop", "Tools", "Show the tools", "stools"];
  expect(rank(texts, "tool", (text) => text)).toEqual(["Tools", "Show the tools", "stools"]);
  expect(rank(texts, "show tool", (text) => text)).toEqual(["Show the tools"]);
});

it("hexDump shows offsets, bytes and ASCII", () => {
  const lines = hexDump(new TextEncoder().encode("A\u0000é0123456789abcdef")).split("\n");
  expect(lines[0]).toBe(
    "000000  41 00 c3 a9 30 31 32 33 34 35 36 37 38 39 61 62  A...0123456789ab",
  );
  expect(lines[1]).toBe(`000010  63 64 65 66${" ".repeat(38)}cdef`);
});
