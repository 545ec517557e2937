// Markdown as elements. HTML in it is shown as text, and nothing is loaded: an image is its address.

import { lexer, type Token, type Tokens } from "marked";
import type { ComponentChildren } from "preact";
import { WebLink } from "./link.tsx";
import { Marked } from "./marked.tsx";

/** A text that is longer, or nested deeper, is shown as it is. */
const MAX_CHARACTERS = 20_000;
const MAX_DEPTH = 12;

/** Returns the elements of a text, or undefined if it is too long or cannot be read. */
export function renderMarkdown(text: string): ComponentChildren | undefined {
  if (text.length > MAX_CHARACTERS || /^(?:[ \t]*[>*+-]){13}/m.test(text)) {
    return undefined;
  }
  try {
    return <div class="markdown">{renderAll(lexer(text), 0)}</div>;
  } catch {
    return undefined;
  }
}

function renderAll(tokens: readonly Token[] | undefined, depth: number): ComponentChildren[] {
  return (tokens ?? []).map((token, index) => (
    <Element key={index} token={token as Tokens.Generic} depth={depth} />
  ));
}

function Element({ token, depth }: { token: Tokens.Generic; depth: number }) {
  if (depth > MAX_DEPTH) {
    return <Marked text={token.raw} />;
  }
  const inner = () =>
    token.tokens ? renderAll(token.tokens, depth + 1) : <Marked text={String(token.text ?? "")} />;
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading":
      return <p class={`markdown-heading level-${token.depth}`}>{inner()}</p>;
    case "paragraph":
      return <p>{inner()}</p>;
    case "blockquote":
      return <blockquote>{inner()}</blockquote>;
    case "list": {
      const items = (token as Tokens.List).items.map((item, index) => (
        <li key={index}>{renderAll(item.tokens, depth + 1)}</li>
      ));
      return token.ordered ? <ol start={Number(token.start)}>{items}</ol> : <ul>{items}</ul>;
    }
    case "table":
      return <Table table={token as Tokens.Table} depth={depth} />;
    case "code":
      return (
        <pre>
          <Marked text={String(token.text)} />
        </pre>
      );
    case "codespan":
      return (
        <code>
          <Marked text={String(token.text)} />
        </code>
      );
    case "strong":
      return <strong>{inner()}</strong>;
    case "em":
      return <em>{inner()}</em>;
    case "del":
      return <del>{inner()}</del>;
    case "br":
      return <br />;
    case "hr":
      return <hr />;
    case "link":
      return (
        <>
          <WebLink url={String(token.href)}>{inner()}</WebLink>{" "}
          <code class="quiet">
            <Marked text={String(token.href)} />
          </code>
        </>
      );
    case "image":
      return (
        <span class="quiet">
          image <Marked text={`${String(token.text)} ${String(token.href)}`} />
        </span>
      );
    case "text":
    case "escape":
      return <>{inner()}</>;
    default:
      return <Marked text={token.raw} />;
  }
}

function Table({ table, depth }: { table: Tokens.Table; depth: number }) {
  return (
    <table>
      <thead>
        <tr>
          {table.header.map((cell, index) => (
            <th key={index}>{renderAll(cell.tokens, depth + 1)}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {table.rows.map((row, index) => (
          <tr key={index}>
            {row.map((cell, column) => (
              <td key={column}>{renderAll(cell.tokens, depth + 1)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
