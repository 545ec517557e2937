import { describe, expect, it } from "vitest";
import { emptyPlace, readPlace, withDraft, withRun, writePlace } from "../../src/pure/place.ts";
import { RowWindow } from "../../src/store/windows.ts";

describe("place", () => {
  it("comes back as it was stored", () => {
    const place = {
      ...emptyPlace(),
      session: "s2",
      drafts: { k: '{"a":1E400}' },
      runs: { k: [7, 3] },
    };
    expect(readPlace(writePlace(place))).toEqual(place);
  });

  it.each([null, "", "[]", "7", '{"wire":7,"sizes":{"rail":-5},"section":"x","runs":{"a":["b"]}}'])(
    "takes %j for an empty place",
    (text) => {
      expect(readPlace(text)).toEqual(emptyPlace());
    },
  );

  it("drops the oldest drafts, in number and in sum", () => {
    let drafts: Record<string, string> = {};
    for (let at = 0; at < 300; at += 1) {
      drafts = withDraft(drafts, `k${at}`, "x".repeat(5000));
    }
    expect(Object.keys(drafts)).toHaveLength(40);
    expect(drafts.k299).toBeDefined();
    expect(Object.keys(withDraft(drafts, "k270", "y")).at(-1)).toBe("k270");
    const big = withDraft(drafts, "big", "x".repeat(500_000));
    expect(Object.keys(big)).toHaveLength(41);
    expect(readPlace(writePlace({ ...emptyPlace(), drafts: big })).drafts.big).toBeUndefined();
  });

  it("keeps the newest requests first, each once", () => {
    expect(withRun([3, 2, 1], 2)).toEqual([2, 3, 1]);
    expect(
      withRun(
        Array.from({ length: 40 }, (_, at) => at),
        99,
      ),
    ).toHaveLength(20);
  });
});

describe("RowWindow", () => {
  const numbers = (total: number, asked: number[] = []) =>
    new RowWindow<number>(async (from, count) => {
      asked.push(from);
      return { total, rows: Array.from({ length: count }, (_, at) => from + at) };
    });

  it("loads the rows in view, each part once", async () => {
    const asked: number[] = [];
    const window = numbers(10_000, asked);
    await window.refresh();
    window.show(450, 510);
    window.show(451, 511);
    await new Promise(setImmediate);
    expect(asked).toEqual([0, 400, 500]);
    expect(window.row(505)).toBe(505);
    expect(window.row(999)).toBeUndefined();
  });

  it("keeps old rows in view until the new ones have come", async () => {
    let answer: (part: { total: number; rows: string[] }) => void = () => undefined;
    const window = new RowWindow<string>(() => new Promise((done) => (answer = done)));
    const first = window.refresh();
    answer({ total: 1, rows: ["old"] });
    await first;
    const second = window.refresh();
    expect(window.row(0)).toBe("old");
    answer({ total: 1, rows: ["new"] });
    await second;
    expect(window.row(0)).toBe("new");
  });

  it("goes on where an answer with fewer rows ends", async () => {
    const window = new RowWindow<number>(async (from) => ({ total: 70, rows: [from, from + 1] }));
    await window.refresh();
    expect([window.row(0), window.row(69)]).toEqual([0, 69]);
  });

  it("holds a bounded number of rows", async () => {
    const window = numbers(1_000_000);
    await window.refresh();
    for (let from = 0; from < 100_000; from += 1000) {
      window.show(from, from + 10);
      await new Promise(setImmediate);
    }
    expect(window.row(99_000)).toBe(99_000);
    expect(window.row(0)).toBeUndefined();
  });

  it("says why rows are missing, and goes on", async () => {
    let isBroken = true;
    const window = new RowWindow<number>(async () => {
      if (isBroken) {
        throw new Error("away");
      }
      return { total: 1, rows: [1] };
    });
    await window.refresh();
    expect(window.error.value).toBe("away");
    isBroken = false;
    await window.refresh();
    expect([window.error.value, window.row(0)]).toEqual([undefined, 1]);
  });
});
