// Servers and items of the mock: many tools, hostile strings, a failed and an ended connection.

import type {
  Form,
  Hint,
  InspectorState,
  ItemKind,
  ItemRow,
  ListSummary,
  ServerFacts,
  Session,
} from "../../src/api/types.ts";
import { field, form, integer, orderForm, text } from "./forms.ts";

export type Item = ItemRow & { form: Form; full: string; method: string };

const HOSTILE = "<script>alert(1)</script> \u202Egnp.exe\u202C zero\u200Bwidth \u001b[31mred\u0007";

function item(name: string, about: string, more: Partial<Item> = {}): Item {
  return {
    key: name,
    name,
    title: null,
    description: about.slice(0, 300),
    hints: [],
    fault: null,
    form: form([]),
    full: about,
    method: "tools/call",
    ...more,
  };
}

const VERBS = ["get", "list", "search", "create", "update", "delete", "export", "archive"];
const NOUNS = ["order", "invoice", "customer", "product", "shipment", "refund", "report"];

const orderTool = item(
  "search_orders",
  "Searches the orders of the shop by number, status and date. Returns at most `limit` lines, the " +
    "newest first. An order that was archived is found only by its number.",
  { title: "Search orders", hints: ["readOnly", "idempotent"], form: orderForm },
);

const tools: Item[] = [
  orderTool,
  item("echo", "Returns its arguments as they came.", {
    hints: ["readOnly"],
    form: form([field("message", text, { required: true }), field("count", integer)]),
  }),
  item("delete_customer", "Deletes a customer and everything that belongs to it.", {
    hints: ["destructive", "saysDestructive"],
    form: form([field("id", integer, { required: true })]),
  }),
  item("big_result", "Returns 10 MB of JSON.", { hints: ["readOnly"] }),
  item("many_blocks", "Returns 5,000 blocks of text.", { hints: ["readOnly"] }),
  item("slow_report", "Reports its progress, then returns.", {
    hints: ["openWorld", "taskOptional"],
  }),
  item("fail", "Always fails.", { hints: ["destructive"] }),
  item("ask_name", "Asks for a name, then greets.", { hints: ["readOnly"] }),
  item("hostile", HOSTILE, { title: HOSTILE, hints: ["readOnly"] }),
  item("broken_schema", "Its input schema is not an object.", {
    fault: "The input schema has the type `string`, but it must be an object.",
  }),
  item(`long_${"name_".repeat(24)}`, "Has a very long name."),
];

function generated(count: number): Item[] {
  return Array.from({ length: count }, (_, index) => {
    const verb = VERBS[index % VERBS.length] ?? "get";
    const noun = NOUNS[index % NOUNS.length] ?? "order";
    const hints: Hint[] = verb === "delete" ? ["destructive", "saysDestructive"] : ["readOnly"];
    return item(`${verb}_${noun}_${index + 1}`, `${verb} one ${noun} of the catalogue by its id.`, {
      hints,
      form: form([field("id", integer, { required: true })]),
    });
  });
}

const resources = [
  ["shop://orders/today", "Orders of today", "application/json"],
  ["shop://orders/open", "Open orders", "application/json"],
  ["shop://help/returns", "How returns work", "text/markdown"],
  ["shop://logo.png", "Logo", "image/png"],
].map(([uri, title, mime]) =>
  item(uri ?? "", mime ?? "", { title: title ?? null, method: "resources/read" }),
);

const templates = [
  item("shop://customers/{name}/orders{?status}", "Orders of a customer.", {
    title: "Orders of a customer",
    method: "resources/read",
    form: form([field("name", text, { required: true }), field("status", text)]),
  }),
];

const prompts = [
  item("write_reminder", "Writes a friendly reminder about an unpaid invoice.", {
    method: "prompts/get",
    form: form([
      field("customer", text, { required: true, help: "Completed by the server." }),
      field("tone", text),
      field("invoice", text),
    ]),
  }),
];

const tasks = [
  item("task-7f3a", "Export of all invoices", { hints: ["working"], method: "tasks/get" }),
  item("task-7f29", "Export of all orders", { hints: ["completed"], method: "tasks/get" }),
];

const skills = [
  item("skill://refunds/SKILL.md", "Handles refunds step by step.", {
    title: "Refunds",
    method: "resources/read",
  }),
];

export const items: Record<string, Partial<Record<ItemKind, Item[]>>> = {
  s1: { tools: [...tools, ...generated(23)], resources, templates, prompts, tasks, skills },
  s2: { tools: generated(1000), resources: [] },
};

function lists(session: string): ListSummary[] {
  return Object.entries(items[session] ?? {}).map(([kind, all]) => ({
    kind: kind as ItemKind,
    total: all.length,
    isLoading: false,
    hasError: false,
  }));
}

function facts(name: string, revision: string, isLegacy: boolean): ServerFacts {
  return {
    name,
    title: null,
    version: "2.4.1",
    revision,
    isLegacy,
    supportedRevisions: isLegacy ? [] : ["2026-07-28", "2025-11-25"],
    capabilities:
      '{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{},"completions":{},"logging":{}}',
    instructions: "Search an order before you change it. Amounts are in cents.",
    hasLogging: true,
    canSubscribe: true,
    canComplete: true,
  };
}

function session(id: string, name: string, more: Partial<Session>): Session {
  return {
    id,
    source: { source: "named", name },
    name,
    address: `https://${name}.example/mcp`,
    transport: "http",
    pid: null,
    connection: { state: "ready" },
    server: null,
    lists: lists(id),
    subscriptions: [],
    logLevel: null,
    latencyUs: null,
    connections: 1,
    loginUrl: null,
    ...more,
  };
}

/** Returns the state at the start. */
export function initialState(): InspectorState {
  return {
    servers: [
      {
        source: { source: "named", name: "github" },
        name: "github",
        address: "https://api.github.example/mcp",
        transport: "http",
        origin: ".vscode/mcp.json",
        fault: null,
      },
      {
        source: { source: "named", name: "files" },
        name: "files",
        address: "npx server-filesystem .",
        transport: "program",
        origin: "mcp.json",
        fault: "The program is not allowed yet: turnbuckle servers allow files",
      },
    ],
    sessions: [
      session("s1", "shop", {
        source: { source: "given" },
        address: "./shop-server --database orders.db",
        transport: "program",
        pid: 48213,
        server: facts("shop", "2026-07-28", false),
        latencyUs: 2140,
        subscriptions: ["shop://orders/today"],
        logLevel: "info",
      }),
      session("s2", "catalogue", {
        server: facts("catalogue", "2025-06-18", true),
        latencyUs: 38_400,
      }),
      session("s3", "billing", {
        connection: {
          state: "failed",
          step: "tls",
          errors: [
            "The TLS handshake with billing.example:443 failed.",
            "invalid peer certificate: Expired",
          ],
          stderr: [],
        },
      }),
      session("s4", "notes", {
        transport: "program",
        address: "python notes.py",
        pid: 48290,
        connection: {
          state: "ended",
          reason: "The program has ended while requests waited for their responses.",
          exitCode: 1,
          stderr: [
            "Traceback (most recent call last):",
            '  File "notes.py", line 41, in handle',
            "KeyError: 'title'",
          ],
        },
        server: facts("notes", "2025-11-25", true),
      }),
    ],
    inbox: [],
    place: null,
    versions: {},
  };
}
