// A JSON value as a tree of lines. The program keeps the value; the page holds the lines in view.

import { signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { api, type OpenValues, rawAddress, type ValueSource } from "../api/client.ts";
import type { Excerpt, ValueRow } from "../api/types.ts";
import { plural, size } from "../pure/format.ts";
import { comboOf, isCombined } from "../pure/keys.ts";
import { copyText } from "../store/actions.ts";
import { RowWindow } from "../store/windows.ts";
import { Failure, Skeleton } from "./bits.tsx";
import { Icon } from "./icon.tsx";
import { Marked } from "./marked.tsx";
import { VirtualList } from "./virtual.tsx";

const ROW = 20;

/** A message of at most this many bytes is open in whole from the start. */
const OPEN_BYTES = 20_000;
const OPEN_DEPTH = 32;

/** In a longer one, values with at most this many members are open, for a few levels. */
const OPEN_CHILDREN = 40;
const OPEN_ROUNDS = 6;

/** The lines that are read to find the line of a match. */
const MAX_SEARCHED = 50_000;

type Tree = { rows: RowWindow<ValueRow>; open: OpenValues; fault: string | undefined };

function makeTree(source: ValueSource): Tree {
  const seen = new Set<string>();
  const open: OpenValues = { depth: 1, toggled: new Set() };
  const tree: Tree = { rows: new RowWindow(load), open, fault: undefined };
  async function load(from: number, count: number): Promise<{ total: number; rows: ValueRow[] }> {
    for (let round = 0; ; round += 1) {
      const value = await api.rows(source, open, from, count);
      tree.fault = value.fault?.sentence;
      const fresh = value.rows.filter((row) => !seen.has(row.path));
      const small = round < OPEN_ROUNDS && from === 0 ? fresh.filter(isSmall) : [];
      for (const row of fresh) {
        seen.add(row.path);
      }
      const root = value.rows[0];
      if (round === 0 && open.depth === 1 && from === 0 && root && root.size <= OPEN_BYTES) {
        open.depth = OPEN_DEPTH;
      } else if (small.length > 0) {
        for (const row of small) {
          open.toggled.add(row.path);
        }
      } else {
        return value;
      }
    }
  }
  return tree;
}

function isSmall({ isOpen, children, size: bytes }: ValueRow): boolean {
  return !isOpen && children > 0 && children <= OPEN_CHILDREN && bytes <= OPEN_BYTES;
}

/** Returns the source of one value of a tree; undefined if it cannot be named. */
function valueSource({ n, at }: ValueSource, path: string): ValueSource | undefined {
  if (path === "") {
    return { n, at };
  }
  if (at === undefined) {
    return { n, at: path };
  }
  return at.includes("-") ? undefined : { n, at: `${at}.${path}` };
}

/** Opens or closes a value. */
function setOpen({ depth, toggled }: OpenValues, path: string, isWanted: boolean): void {
  const isOpenByDepth = (path === "" ? 0 : path.split(".").length) < depth;
  if (isOpenByDepth === isWanted) {
    toggled.delete(path);
  } else {
    toggled.add(path);
  }
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
    if (row.children > 0) {
      setOpen(tree.open, row.path, isOpen);
      void rows.refresh();
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows.row(current.value);
    if (isCombined(event)) {
      const source = row && valueSource({ n, at }, row.path);
      if (source && comboOf(event) === "Mod+C" && getSelection()?.isCollapsed) {
        event.preventDefault();
        void copyText(() => api.raw(source), "the value");
      }
      return;
    }
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
          <Cut excerpt={row.key} source={undefined} />
          {row.isDuplicate && <span class="tag tag-warning">twice</span>}
          <span class="tree-colon">: </span>
        </span>
      )}
      {row.text ? (
        <span class={`tree-value is-${row.kind}`}>
          <Cut excerpt={row.text} source={valueSource(source, row.path)} />
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
    for (let depth = 0; depth < parts.length; depth += 1) {
      setOpen(tree.open, parts.slice(0, depth).join("."), true);
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
  for (let from = 0; from < Math.min(tree.rows.total, MAX_SEARCHED); ) {
    const part = await api.rows(source, tree.open, from, 1000);
    const index = part.rows.findIndex((row) => row.path === path);
    if (index >= 0 || part.rows.length === 0) {
      return index >= 0 ? from + index : undefined;
    }
    from += part.rows.length;
  }
  return undefined;
}
