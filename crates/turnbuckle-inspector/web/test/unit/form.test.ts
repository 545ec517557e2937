import { describe, expect, it } from "vitest";
import type { FieldKind } from "../../src/api/types.ts";
import { kindRemark, shownValue, startValue, typedValue, variantOf } from "../../src/pure/form.ts";
import { paramsOf } from "../../src/views/workbench/request.ts";
import { field, integer, text } from "./fields.ts";

describe("values of fields", () => {
  it("writes a number as it was typed, and anything else as text", () => {
    expect(typedValue("integer", "9007199254740993")).toBe("9007199254740993");
    expect(typedValue("number", "1E400")).toBe("1E400");
    expect(typedValue("integer", "abc")).toBe('"abc"');
    expect(typedValue("text", "12")).toBe('"12"');
  });

  it("says when a value has another kind than the field", () => {
    expect(kindRemark("integer", '"12"')).toBe("sent as text");
    expect(kindRemark("text", "12")).toBe("sent as a number, not as text");
    expect(kindRemark("text", '"12"')).toBeUndefined();
    expect(kindRemark("integer", undefined)).toBeUndefined();
  });

  it("shows strings decoded and other values as they are", () => {
    expect([shownValue('"a\\nb"'), shownValue("1E400"), shownValue(undefined)]).toEqual([
      "a\nb",
      "1E400",
      "",
    ]);
  });

  it("begins a union with its first variant", () => {
    const union: FieldKind = {
      kind: "union",
      variants: [{ title: "", field: field("", integer) }],
    };
    expect(startValue(union)).toBe("0");
  });
});

describe("variantOf", () => {
  const object = (name: string) =>
    field("", { kind: "object", hasOtherMembers: false, fields: [field(name, text)] });
  const variants = [object("card"), object("iban"), field("", text), field("", integer)].map(
    (one) => ({ field: one }),
  );

  it("finds the variant that a value looks like", () => {
    expect(variantOf(variants, '{"iban":"x"}')).toBe(1);
    expect(variantOf(variants, '"x"')).toBe(2);
    expect(variantOf(variants, "7")).toBe(3);
    expect(variantOf(variants, undefined)).toBe(0);
  });
});

describe("requests", () => {
  it("takes the arguments over byte for byte", () => {
    const args = '{"a":1E400,"a":2 }';
    expect(paramsOf("tools", 'x"y', args)).toBe(`{"name":"x\\"y","arguments":${args}}`);
  });
});
