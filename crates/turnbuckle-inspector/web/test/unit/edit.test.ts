import { describe, expect, it } from "vitest";
import {
  formatJson,
  rawAt,
  removeValue,
  setValue,
  stringAt,
  toPointer,
} from "../../src/pure/edit.ts";

const TEXT = '{\n  "a": 9007199254740993,\n  "b": [1, 1E400, "caf\\u00e9"],\n  "a": 2\n}';

describe("setValue", () => {
  it("changes one value and keeps every other byte", () => {
    expect(setValue(TEXT, ["b", 1], "1.10")).toBe(TEXT.replace("1E400", "1.10"));
  });

  it("changes the last of members with the same name", () => {
    expect(setValue(TEXT, ["a"], "3")).toBe(TEXT.replace('"a": 2', '"a": 3'));
  });

  it("adds a member in the layout of its object", () => {
    expect(setValue(TEXT, ["c"], "true")).toBe(TEXT.replace('"a": 2', '"a": 2,\n  "c": true'));
    expect(setValue('{"a":1}', ["b"], "2")).toBe('{"a":1, "b": 2}');
    expect(setValue("{}", ["b"], "2")).toBe('{\n  "b": 2\n}');
  });

  it("makes the objects and lists on the way", () => {
    expect(setValue("{}", ["a", "b", 0], "1")).toBe('{\n  "a": {"b": [1]}\n}');
  });

  it("adds an item at the end of a list", () => {
    expect(setValue("[1]", [1], "2")).toBe("[1, 2]");
  });

  it("leaves a text that is not JSON alone", () => {
    expect(setValue('{"a":', ["a"], "1")).toBe('{"a":');
  });

  it("keeps a dollar sign of the value", () => {
    expect(setValue('{"a":1}', ["a"], '"$&"')).toBe('{"a":"$&"}');
  });
});

describe("removeValue", () => {
  it("takes one comma with the member", () => {
    expect(removeValue('{"a":1,"b":2,"c":3}', ["a"])).toBe('{"b":2,"c":3}');
    expect(removeValue('{"a":1,"b":2,"c":3}', ["b"])).toBe('{"a":1,"c":3}');
    expect(removeValue('{"a":1,"b":2}', ["b"])).toBe('{"a":1}');
    expect(removeValue('{ "a":1 }', ["a"])).toBe("{}");
    expect(removeValue("[1,2,3]", [0])).toBe("[2,3]");
  });

  it("leaves a text without the value alone", () => {
    expect(removeValue('{"a":1}', ["b"])).toBe('{"a":1}');
    expect(removeValue("[1]", [4])).toBe("[1]");
  });
});

describe("reading", () => {
  it("returns raw text, and strings decoded", () => {
    expect(rawAt(TEXT, ["b", 1])).toBe("1E400");
    expect(stringAt(TEXT, ["b", 2])).toBe("café");
    expect(stringAt(TEXT, ["b", 0])).toBeUndefined();
  });

  it("does not read members of Object", () => {
    expect(rawAt("{}", ["constructor"])).toBeUndefined();
    expect(setValue("{}", ["__proto__"], "1")).toContain('"__proto__": 1');
  });
});

describe("formatJson", () => {
  it("keeps numbers, duplicate names and escapes", () => {
    const text = '{"a":1E400,"a":[1.10,{"b\\u00e9\\"":"\\ud800"}],"c":{},"d":[]}';
    const laidOut = formatJson(text);
    expect(laidOut.replace(/\n\s*/g, "").replaceAll(": ", ":")).toBe(text);
    expect(laidOut.split("\n")).toHaveLength(11);
  });

  it("leaves a text that is not JSON alone", () => {
    expect(formatJson("{a}")).toBe("{a}");
  });
});

it("toPointer escapes names", () => {
  expect(toPointer(["a/b", 0, "c~d"])).toBe("/a~1b/0/c~0d");
});
