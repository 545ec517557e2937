// Fields of forms, for unit tests.

import type { Field, FieldKind } from "../../src/api/types.ts";

export const text: FieldKind = {
  kind: "text",
  rules: { minCharacters: null, maxCharacters: null, pattern: null, format: null, secret: false },
};
export const integer: FieldKind = { kind: "integer", minimum: null, maximum: null, step: null };

export function field(name: string, kind: FieldKind): Field {
  return {
    name,
    title: null,
    help: null,
    required: false,
    default: null,
    examples: [],
    nullable: false,
    header: null,
    kind,
  };
}
