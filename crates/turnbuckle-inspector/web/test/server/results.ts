// The results of the test server: JSON texts, as they stand on the wire.

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAFUlEQVR4nGNgYPj/n4EBhHEwBqoDALtQB/nEnZPLAAAAAElFTkSuQmCC";

/** Numbers, names and escapes that a browser would change. */
export const EXACT =
  '{"total":9007199254740993,"price":1E400,"rate":1.10,"name":"caf\\u00e9 \\ud83d\\ude00 \\/","id":1,"id":2,"empty":{},"none":null,"ok":true}';

/** Text that must not become markup, control sequences, or hidden. */
export const HOSTILE_TEXT =
  '<img src=x onerror="document.title=1">\u202Etxt.exe\u202C a\u200Bb \u001b[1;31mred\u001b[0m';

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

/** Returns a tool result with one text. */
export function textResult(value: string): string {
  return `{"content":[${text(value)}]}`;
}

function orders(count: number): string {
  const lines = Array.from(
    { length: count },
    (_, index) =>
      `{"order":"A-2026-${index}","cents":${100_000 + index * 37},"status":"${index % 3 ? "paid" : "open"}","customer":{"name":"Ada Example","city":"Köln"}}`,
  );
  return `[${lines.join(",")}]`;
}

/** The large results, made at the start: the time of a call is that of the page and its program. */
const BIG = `{"content":[${text("98,000 orders")}],"structuredContent":{"orders":${orders(98_000)}}}`;
const BLOCKS = Array.from({ length: 5000 }, (_, n) =>
  text(`Block ${n + 1}: ${"word ".repeat(24)}`),
);

/** Returns the result of a tool that answers at once, or undefined. */
export function toolResult(name: string, line: string): string | undefined {
  switch (name) {
    case "echo":
      return textResult(line);
    case "exact":
      return `{"content":[${text("exact")}],"structuredContent":${EXACT}}`;
    case "big_result":
      return BIG;
    case "many_blocks":
      return `{"content":[${BLOCKS.join(",")}]}`;
    case "picture":
      return `{"content":[{"type":"image","data":"${PNG}","mimeType":"image/png"},{"type":"resource_link","uri":"shop://orders/today","name":"Orders of today","mimeType":"application/json"}]}`;
    case "fail":
      return `{"content":[${text("The database is locked: try again in a moment.")}],"isError":true}`;
    case "hostile":
      return textResult(HOSTILE_TEXT);
    case "search_orders":
      return `{"content":[${text("2 orders are open.\n\nA-2026-1107   1,240.00\nA-2026-1109      18.50")}],"structuredContent":{"orders":${orders(2)},"total":2}}`;
    default:
      return /^(get|list|search|create|update|delete|export|archive)_/.test(name)
        ? textResult(`${name} is done.`)
        : undefined;
  }
}

/** Returns the result of reading a resource. */
export function resourceResult(uri: string, version: number): string {
  const about = (mimeType: string) => `"uri":${JSON.stringify(uri)},"mimeType":"${mimeType}"`;
  if (uri.endsWith(".png")) {
    return `{"contents":[{${about("image/png")},"blob":"${PNG}"}]}`;
  }
  if (uri === "shop://hostile") {
    return `{"contents":[{${about("text/html")},"text":${JSON.stringify(HOSTILE_TEXT)}}]}`;
  }
  const [mime, content] = uri.includes("/help/")
    ? ["text/markdown", GUIDE]
    : ["application/json", `{"version":${version},"orders":${orders(3)}}`];
  return `{"contents":[{${about(mime)},"text":${JSON.stringify(content)}}]}`;
}

/** Returns the result of a prompt. */
export function promptResult(customer: string): string {
  return `{"description":"A reminder","messages":[{"role":"user","content":${text(`Write a reminder to ${customer} about invoice 2026-1107.`)}},{"role":"assistant","content":${text(`Dear ${customer}, invoice 2026-1107 is still open.`)}}]}`;
}
