import { rawAddress, type ValueSource } from "../../api/client.ts";
import type { Excerpt, ValueRow } from "../../api/types.ts";
import { plural, size } from "../../pure/format.ts";
import { Icon } from "../icon.tsx";
import { Marked } from "../marked.tsx";
import { valueSource } from "./model.ts";

type LineProps = {
  id: string;
  row: ValueRow | undefined;
  isCurrent: boolean;
  source: ValueSource;
  onClick: (row: ValueRow) => void;
  onCopy: (source: ValueSource) => void;
};

/** A value of a tree, on one line. */
export function TreeLine({ id, row, isCurrent, source, onClick, onCopy }: LineProps) {
  if (!row) {
    return <div class="tree-line" role="presentation" />;
  }
  const isHolder = row.children > 0;
  const close = row.kind === "array" ? "]" : "}";
  const open = row.kind === "array" ? "[" : "{";
  const value = valueSource(source, row.path);
  return (
    <div
      id={id}
      class={`tree-line ${isCurrent ? "is-current" : ""}`}
      role="treeitem"
      aria-level={row.depth + 1}
      aria-expanded={isHolder ? row.isOpen : undefined}
      aria-selected={isCurrent}
      onClick={() => onClick(row)}
    >
      <span class="tree-indent" style={{ width: `${Math.min(row.depth, 30) * 14}px` }} />
      <span class={`tree-toggle ${row.isOpen ? "is-open" : ""}`}>
        {isHolder && <Icon name="right" />}
      </span>
      {row.key && (
        <span class={`tree-key ${row.isDuplicate ? "is-duplicate" : ""}`}>
          <Cut excerpt={row.key} source={undefined} />
          {row.isDuplicate && <span class="tag tag-warning">twice</span>}
          <span class="tree-colon">: </span>
        </span>
      )}
      {row.text ? (
        <span class={`tree-value is-${row.kind}`}>
          <Cut excerpt={row.text} source={value} />
        </span>
      ) : (
        <span class="tree-holder">
          {open}
          {!row.isOpen && isHolder && "…"}
          {(!row.isOpen || !isHolder) && close}
          {isHolder && (
            <span class="tree-count">
              {plural(row.children, row.kind === "array" ? "item" : "member")}
              {row.size > 1000 && ` · ${size(row.size)}`}
            </span>
          )}
        </span>
      )}
      {value && (
        <span class="tree-actions">
          <button
            type="button"
            class="button button-plain button-bare"
            tabIndex={-1}
            aria-label="Copy the value"
            title="Copy the value as it was sent"
            onClick={(event) => {
              event.stopPropagation();
              onCopy(value);
            }}
          >
            <Icon name="copy" />
          </button>
          <a
            class="button button-plain button-bare"
            tabIndex={-1}
            href={rawAddress(value)}
            download
            aria-label="Save the value"
            title="Save the value as it was sent"
            onClick={(event) => event.stopPropagation()}
          >
            <Icon name="save" />
          </a>
        </span>
      )}
    </div>
  );
}

function Cut({ excerpt, source }: { excerpt: Excerpt; source: ValueSource | undefined }) {
  return (
    <>
      <Marked text={excerpt.text} />
      {excerpt.cut !== null &&
        (source ? (
          <a
            class="tree-cut"
            href={rawAddress(source)}
            download
            title="Save the whole value"
            onClick={(event) => event.stopPropagation()}
          >
            … {size(excerpt.cut)}
          </a>
        ) : (
          <span class="tree-cut">… {size(excerpt.cut)}</span>
        ))}
    </>
  );
}
