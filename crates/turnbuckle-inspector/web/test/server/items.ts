// The items of the test server, as they stand in its lists.

export type Json = Record<string, unknown>;

const HOSTILE = "<script>alert(1)</script> \u202Egnp.exe\u202C zero\u200Bwidth \u001b[31mred\u0007";

const string = { type: "string" };
const integer = { type: "integer" };
const object = (properties: Json, required: string[] = []) => ({
  type: "object",
  properties,
  required,
});

const reads = { readOnlyHint: true, destructiveHint: false };

/** A tool with every kind of field. */
const order = object(
  {
    order: {
      ...string,
      title: "Order number",
      description: "The number on the invoice, with its dashes.",
      examples: ["A-2026-1107"],
    },
    limit: { ...integer, minimum: 1, maximum: 500, default: 50, description: "The most lines." },
    amount: { type: "number", description: "An exact amount: 9007199254740993 stays." },
    express: { type: "boolean" },
    status: { ...string, enum: ["open", "paid", "cancelled"] },
    since: { ...string, format: "date" },
    tags: { type: "array", items: string, maxItems: 5, uniqueItems: true },
    address: object({ street: string, city: string }, ["street"]),
    payment: {
      oneOf: [
        { title: "Card", ...object({ card: string, months: integer }) },
        { title: "Reference", type: "string" },
      ],
    },
    receipt: { ...string, contentEncoding: "base64", contentMediaType: "application/pdf" },
    extra: {},
  },
  ["order"],
);

const TOOLS: Json[] = [
  {
    name: "search_orders",
    title: "Search orders",
    description:
      "Searches the orders of the shop by number, status and date. Returns at most `limit` lines, the " +
      "newest first. An order that was archived is found only by its number.",
    inputSchema: order,
    annotations: { ...reads, idempotentHint: true },
  },
  {
    name: "echo",
    description: "Returns the line that the server received.",
    inputSchema: object({ message: string, count: integer }, ["message"]),
    annotations: reads,
  },
  {
    name: "delete_customer",
    description: "Deletes a customer and everything that belongs to it.",
    inputSchema: object({ id: integer }, ["id"]),
    annotations: { destructiveHint: true },
  },
  ...Object.entries({
    exact: "Returns numbers, names and escapes that a browser would change.",
    big_result: "Returns 10 MB of JSON.",
    many_blocks: "Returns 5,000 blocks of text.",
    picture: "Returns an image and a link.",
    slow: "Reports its progress until it is cancelled.",
    fail: "Always fails.",
    ask_form: "Asks for a name, then greets.",
    ask_url: "Asks the user to visit a page.",
    ask_model: "Asks for the answer of a model.",
    ask_roots: "Asks for the roots.",
    print: "Prints a line that is no message, and lines to stderr.",
    change: "Changes the resource with the orders of today.",
    crash: "Ends the server with exit code 3.",
    hostile: HOSTILE,
  }).map(([name, description]) => ({
    name,
    description,
    inputSchema: object({}),
    annotations: reads,
    ...(name === "hostile" ? { title: HOSTILE } : {}),
  })),
];

const VERBS = ["get", "list", "search", "create", "update", "delete", "export", "archive"];
const NOUNS = ["order", "invoice", "customer", "product", "shipment", "refund", "report"];

/** Returns `count` tools: those of this file first, then made ones. */
export function tools(count: number): Json[] {
  const made = Array.from({ length: Math.max(0, count - TOOLS.length) }, (_, index) => {
    const verb = VERBS[index % VERBS.length] ?? "get";
    const noun = NOUNS[index % NOUNS.length] ?? "order";
    return {
      name: `${verb}_${noun}_${index + 1}`,
      description: `${verb} one ${noun} of the catalogue by its id.`,
      inputSchema: object({ id: integer }, ["id"]),
      annotations: verb === "delete" ? { destructiveHint: true } : reads,
    };
  });
  return [...TOOLS, ...made];
}

export const resources: Json[] = [
  { uri: "shop://orders/today", name: "Orders of today", mimeType: "application/json" },
  { uri: "shop://help/returns", name: "How returns work", mimeType: "text/markdown" },
  { uri: "shop://logo.png", name: "Logo", mimeType: "image/png" },
  { uri: "shop://hostile", name: HOSTILE, description: HOSTILE, mimeType: "text/html" },
];

export const templates: Json[] = [
  {
    uriTemplate: "shop://customers/{name}/orders{?status}",
    name: "Orders of a customer",
    mimeType: "application/json",
  },
];

export const prompts: Json[] = [
  {
    name: "write_reminder",
    description: "Writes a friendly reminder about an unpaid invoice.",
    arguments: [
      { name: "customer", description: "Completed by the server.", required: true },
      { name: "tone" },
    ],
  },
  { name: "hostile", title: HOSTILE, description: HOSTILE },
];
