// Results of the mock server: JSON texts, as they would come over the wire.

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAFUlEQVR4nGNgYPj/n4EBhHEwBqoDALtQB/nEnZPLAAAAAElFTkSuQmCC";

/** Numbers, names and escapes that a browser would change. */
export const EXACT =
  '{"total":9007199254740993,"price":1E400,"rate":1.10,"name":"caf\\u00e9 \\ud83d\\ude00","id":1,"id":2,"empty":{},"none":null,"ok":true}';

/** Markdown with parts that must not become active. */
const GUIDE = `# Returns

Send it **within 30 days**, see [the form](https://shop.example/form) or [this](javascript:alert(1)).

1. Pack the goods
2. Print the \`label\`

| Size | Price |
|---|---|
| small | 4.90 |

<img src=x onerror="document.title='taken'"> ![logo](https://tracker.example/logo.png)

\`\`\`sh
turnbuckle call refund
\`\`\`
`;

const text = (value: string) => `{"type":"text","text":${JSON.stringify(value)}}`;

function orders(count: number): string {
  const lines = Array.from(
    { length: count },
    (_, index) =>
      `{"order":"A-2026-${index}","cents":${100_000 + index * 37},"status":"${index % 3 ? "paid" : "open"}","customer":{"name":"Ada Example","city":"Köln"}}`,
  );
  return `[${lines.join(",")}]`;
}

let big: string | undefined;

/** Returns the JSON text of a result; undefined if the request is answered later. */
export function resultOf(method: string, name: string, args: string): string {
  switch (method) {
    case "tools/call":
      return toolResult(name, args);
    case "resources/read":
      if (name.endsWith(".png")) {
        return `{"contents":[{"uri":${JSON.stringify(name)},"blob":"${PNG}","mimeType":"image/png"}]}`;
      }
      if (name.includes("/help/")) {
        const piece = `{"uri":${JSON.stringify(name)},"mimeType":"text/markdown","text":${JSON.stringify(GUIDE)}}`;
        return `{"contents":[${piece}]}`;
      }
      return `{"contents":[{"uri":${JSON.stringify(name)},"mimeType":"application/json","text":${JSON.stringify(orders(3))}}]}`;
    case "prompts/get":
      return `{"description":"A reminder","messages":[{"role":"user","content":${text("Write a reminder to Ada Example about invoice 2026-1107. The tone is friendly.")}},{"role":"assistant","content":${text("Dear Ada, a short note about invoice 2026-1107: it is still open.")}}]}`;
    default:
      return `{"taskId":${JSON.stringify(name)},"status":"working","pollInterval":1000}`;
  }
}

function toolResult(name: string, args: string): string {
  switch (name) {
    case "big_result":
      big ??= orders(98_000);
      return `{"content":[${text("98,000 orders")}],"structuredContent":{"orders":${big}}}`;
    case "many_blocks":
      return `{"content":[${Array.from({ length: 5000 }, (_, n) => text(`Block ${n + 1}: ${"word ".repeat(24)}`)).join(",")}]}`;
    case "fail":
      return `{"content":[${text("The database is locked: try again in a moment.")}],"isError":true}`;
    case "hostile":
      return `{"content":[${text('<img src=x onerror="document.title=1">\u202Etxt.exe\u202C a\u200Bb \u001b[1;31mred\u001b[0m')}]}`;
    case "search_orders":
      return `{"content":[${text("2 orders are open.\n\nA-2026-1107   1,240.00\nA-2026-1109      18.50")},{"type":"image","data":"${PNG}","mimeType":"image/png"},{"type":"resource_link","uri":"shop://orders/open","name":"Open orders","mimeType":"application/json"}],"structuredContent":${EXACT}}`;
    default:
      return `{"content":[${text(args)}],"structuredContent":${args}}`;
  }
}

export function blobBytes(): Uint8Array {
  return Buffer.from(PNG, "base64");
}
