// Fields of the forms of the mock server.

import type { Field, FieldKind, Form } from "../../src/api/types.ts";

export function field(name: string, kind: FieldKind, more: Partial<Field> = {}): Field {
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
    ...more,
  };
}

export function form(fields: Field[], initial = "{}"): Form {
  return { fields, hasOtherMembers: false, leftOut: [], initial };
}

export const text: FieldKind = {
  kind: "text",
  rules: { minCharacters: null, maxCharacters: null, pattern: null, format: null, secret: false },
};
const limits = { minimum: null, maximum: null, step: null };
export const integer: FieldKind = { kind: "integer", ...limits };

export const orderForm = form([
  field("order", text, {
    title: "Order number",
    help: "The number on the invoice, with its dashes.",
    required: true,
    examples: ['"A-2026-1107"'],
  }),
  field(
    "limit",
    { kind: "integer", minimum: "1", maximum: "500", step: null },
    { help: "The most lines to return.", default: "50" },
  ),
  field(
    "amount",
    { kind: "number", ...limits },
    { help: "An exact amount: 9007199254740993 stays." },
  ),
  field("express", { kind: "boolean" }),
  field(
    "status",
    {
      kind: "choice",
      choices: ["open", "paid", "cancelled"].map((title) => ({ value: `"${title}"`, title })),
    },
    { header: "X-Order-Status" },
  ),
  field("since", { kind: "date", date: "date" }),
  field(
    "tags",
    { kind: "list", item: field("", text), minimum: null, maximum: 5, unique: true },
    { help: "Words to find the order by." },
  ),
  field("address", {
    kind: "object",
    hasOtherMembers: false,
    fields: [field("street", text, { required: true }), field("city", text)],
  }),
  field("payment", {
    kind: "union",
    variants: [
      {
        title: "Card",
        field: field("", {
          kind: "object",
          hasOtherMembers: false,
          fields: [field("card", text), field("months", integer)],
        }),
      },
      { title: "Reference", field: field("", text) },
    ],
  }),
  field("receipt", { kind: "file", mediaType: "application/pdf" }),
  field("extra", { kind: "raw" }, { nullable: true }),
]);
