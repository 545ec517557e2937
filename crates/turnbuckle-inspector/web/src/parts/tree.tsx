// A JSON value as a tree of lines. The program keeps the value; the page holds the lines in view.

import { signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { api, rawAddress, type ValueSource } from "../api/client.ts";
import type { Excerpt, ValueRow } from "../api/types.ts";
import { plural, size } from "../pure/format.ts";
import { isCombined } from "../pure/keys.ts";
import { RowWindow } from "../store/windows.ts";
import { Failure, Skeleton } from "./bits.tsx";
import { Icon } from "./icon.tsx";
import { Marked } from "./marked.tsx";
import { VirtualList } from "./virtual.tsx";

const ROW = 20;
const ROOT = ".";

/** A value with at most this many members and bytes is open from the start. */
const OPEN_CHILDREN = 40;
const OPEN_BYTES = 20_000;
const OPEN_DEPTH = 6;

/** The lines that are read to find the line of a match. */
const MAX_SEARCHED = 50_000;

type Tree = { rows: RowWindow<ValueRow>; open: Set<string>; fault: string | undefined };

function makeTree(source: ValueSource): Tree {
  const seen = new Set<string>([ROOT]);
  const tree: Tree = { rows: new RowWindow(load), open: new Set([ROOT]), fault: undefined };
  async function load(from: number, count: number): Promise<{ total: number; rows: ValueRow[] }> {
    for (let round = 0; ; round += 1) {
      const open = [...tree.open].join(",");
      const value = await api.rows(source, open, from, count);
      tree.fault = value.fault?.sentence;
      const small = value.rows.filter((row) => isSmall(row) && !seen.has(row.path));
      if (round >= OPEN_DEPTH || from > 0 || small.length === 0) {
        return value;
      }
      for (const row of small) {
        seen.add(row.path);
        tree.open.add(row.path);
      }
    }
  }
  return tree;
}

function isSmall({ isOpen, children, size: bytes }: ValueRow): boolean {
  return !isOpen && children > 0 && children <= OPEN_CHILDREN && bytes <= OPEN_BYTES;
}

type Props = { n: number; at?: string | undefined; label: string; isSearchable?: boolean };

export function TreeView({ n, at, label, isSearchable = true }: Props) {
  const tree = useMemo(() => makeTree({ n, at }), [n, at]);
  const current = useSignal(0);
  const { rows } = tree;
  void rows.changes.value;

  useEffect(() => {
    current.value = 0;
    rows.show(0, 60);
  }, [rows]);

  const toggle = (row: ValueRow, isOpen: boolean) => {
    const path = row.path === "" ? ROOT : row.path;
    if (row.children > 0) {
      if (isOpen) {
        tree.open.add(path);
      } else {
        tree.open.delete(path);
      }
      void rows.refresh();
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (isCombined(event)) {
      return;
    }
    const row = rows.row(current.value);
    const move: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 };
    const by = move[event.key];
    if (by !== undefined) {
      current.value = Math.max(0, Math.min(rows.total - 1, current.value + by));
    } else if (event.key === "Home" || event.key === "End") {
      current.value = event.key === "Home" ? 0 : rows.total - 1;
    } else if (row && event.key === "ArrowRight") {
      toggle(row, true);
    } else if (row && event.key === "ArrowLeft") {
      toggle(row, false);
    } else if (row && event.key === "Enter") {
      toggle(row, !row.isOpen);
    } else {
      return;
    }
    event.preventDefault();
  };

  if (rows.error.value !== undefined && rows.isEmpty.value) {
    return <Failure text={rows.error.value} />;
  }
  return (
    <div class="tree" style={{ "--rows": rows.total }}>
      {isSearchable && (
        <TreeSearch source={{ n, at }} tree={tree} onFound={(at) => (current.value = at)} />
      )}
      {tree.fault && <Failure text={`Not JSON: ${tree.fault}`} />}
      {rows.isEmpty.value ? (
        <Skeleton rows={4} />
      ) : (
        <VirtualList
          total={rows.total}
          rowHeight={ROW}
          current={current.value}
          onShow={(from, to) => rows.show(from, to)}
          attributes={{
            role: "tree",
            "aria-label": label,
            "aria-activedescendant": `tree-${n}-${at ?? ""}-${current.value}`,
            onKeyDown,
          }}
          render={(index) => (
            <TreeLine
              key={index}
              id={`tree-${n}-${at ?? ""}-${index}`}
              row={rows.row(index)}
              isCurrent={index === current.value}
              source={{ n, at }}
              onClick={(row) => {
                current.value = index;
                toggle(row, !row.isOpen);
              }}
            />
          )}
        />
      )}
    </div>
  );
}

type LineProps = {
  id: string;
  row: ValueRow | undefined;
  isCurrent: boolean;
  source: ValueSource;
  onClick: (row: ValueRow) => void;
};

function TreeLine({ id, row, isCurrent, source, onClick }: LineProps) {
  if (!row) {
    return <div class="tree-line" role="presentation" />;
  }
  const isHolder = row.children > 0;
  const close = row.kind === "array" ? "]" : "}";
  const open = row.kind === "array" ? "[" : "{";
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
          <Cut excerpt={row.key} source={source} />
          {row.isDuplicate && <span class="tag tag-warning">twice</span>}
          <span class="tree-colon">: </span>
        </span>
      )}
      {row.text ? (
        <span class={`tree-value is-${row.kind}`}>
          <Cut excerpt={row.text} source={source} />
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
    </div>
  );
}

function Cut({ excerpt, source }: { excerpt: Excerpt; source: ValueSource }) {
  return (
    <>
      <Marked text={excerpt.text} />
      {excerpt.cut !== null && (
        <a class="tree-cut" href={rawAddress(source)} download title="Save the whole value">
          … {size(excerpt.cut)}
        </a>
      )}
    </>
  );
}

const searchText = signal("");

function TreeSearch(props: { source: ValueSource; tree: Tree; onFound: (row: number) => void }) {
  const { source, tree } = props;
  const result = useSignal<{ paths: string[]; at: number; hasMore: boolean } | undefined>(
    undefined,
  );
  const find = async (by: number) => {
    const last = result.value;
    if (last && last.paths.length > 0) {
      const at = (last.at + by + last.paths.length) % last.paths.length;
      result.value = { ...last, at };
      await reveal(last.paths[at] ?? "");
      return;
    }
    if (searchText.value === "") {
      return;
    }
    const found = await api.search(source, searchText.value, 0);
    const paths = [...new Set(found.matches.map((match) => match.path))];
    result.value = { paths, at: 0, hasMore: found.next !== null };
    if (paths[0] !== undefined) {
      await reveal(paths[0]);
    }
  };
  const reveal = async (path: string) => {
    const parts = path === "" ? [] : path.split(".");
    tree.open.add(ROOT);
    for (let depth = 1; depth < parts.length; depth += 1) {
      tree.open.add(parts.slice(0, depth).join("."));
    }
    await tree.rows.refresh();
    const row = await rowOf(source, tree, path);
    if (row !== undefined) {
      props.onFound(row);
    }
  };
  const found = result.value;
  return (
    <div class="tree-search">
      <Icon name="search" />
      <input
        type="search"
        aria-label="Search in the value"
        placeholder="Search in the value"
        value={searchText}
        onInput={(event) => {
          searchText.value = event.currentTarget.value;
          result.value = undefined;
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") {
            event.preventDefault();
            void find(event.shiftKey ? -1 : 1);
          }
        }}
      />
      {found && (
        <span class="tree-found" role="status">
          {found.paths.length === 0
            ? "nothing found"
            : `${found.at + 1} of ${found.paths.length}${found.hasMore ? "+" : ""}`}
        </span>
      )}
    </div>
  );
}

/** Returns the line of a path: the lines are read in order until it comes. */
async function rowOf(source: ValueSource, tree: Tree, path: string): Promise<number | undefined> {
  const open = [...tree.open].join(",");
  const step = 1000;
  for (let from = 0; from < Math.min(Math.max(tree.rows.total, 1), MAX_SEARCHED); from += step) {
    const part = await api.rows(source, open, from, step);
    const index = part.rows.findIndex((row) => row.path === path);
    if (index >= 0) {
      return from + index;
    }
  }
  return undefined;
}
