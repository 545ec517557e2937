import { describe, expect, it } from "vitest";
import { isNumber, lineAndColumn, readJson } from "../../src/pure/json.ts";

describe("readJson", () => {
  it.each(["1", "-0", "1.5e-7", "1E400", '"\\ud800"', "null", " [ ] ", '{"":{}}'])(
    "reads %s",
    (text) => {
      expect(readJson(text).node).toBeDefined();
    },
  );

  it.each([
    ["", 0],
    ["01", 1],
    ["1.", 1],
    ["+1", 0],
    ["NaN", 0],
    ["[1,]", 3],
    ['{"a":1,}', 7],
    ["{a:1}", 1],
    ['{"a" 1}', 5],
    ['"\n"', 1],
    ['"\\x"', 1],
    ['"open', 0],
    ["1 2", 2],
    ["truer", 4],
  ])("refuses %j at %d", (text, at) => {
    expect(readJson(text).fault?.at).toBe(at);
  });

  it("keeps duplicate members and their places", () => {
    const text = '{"a":1,"a":22}';
    const members = readJson(text).node?.members ?? [];
    expect(members.map(({ value }) => text.slice(value.start, value.end))).toEqual(["1", "22"]);
  });

  it("refuses a value that is nested too deep instead of failing", () => {
    expect(readJson("[".repeat(100_000)).fault?.sentence).toContain("200");
  });

  it("agrees with the browser about what is JSON", () => {
    const texts = ["{}", "[1,2]", '{"a":[true,false,null]}', "[", "]", '{"a"}', "1e5", "1e", "-"];
    for (const text of texts) {
      let isJson = true;
      try {
        JSON.parse(text);
      } catch {
        isJson = false;
      }
      expect([text, readJson(text).node !== undefined]).toEqual([text, isJson]);
    }
  });
});

it("isNumber takes JSON numbers alone", () => {
  expect(["0", "-1.5", "1E400", "9007199254740993"].every(isNumber)).toBe(true);
  expect(["", "1.", ".5", "01", "1 ", "0x1", "Infinity"].some(isNumber)).toBe(false);
});

it("lineAndColumn counts from 1", () => {
  expect(lineAndColumn("ab\ncd", 0)).toEqual({ line: 1, column: 1 });
  expect(lineAndColumn("ab\ncd", 4)).toEqual({ line: 2, column: 2 });
});
