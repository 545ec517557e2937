import { useSignal } from "@preact/signals";
import { useEffect, useId, useMemo } from "preact/hooks";
import { api, type ValueSource } from "../../api/client.ts";
import type { ValueRow } from "../../api/types.ts";
import { comboOf, isCombined } from "../../pure/keys.ts";
import { copyText } from "../../store/actions.ts";
import { Failure, Skeleton } from "../bits.tsx";
import { VirtualList } from "../virtual.tsx";
import { TreeLine } from "./line.tsx";
import { makeTree, setOpen, valueSource } from "./model.ts";
import { TreeSearch } from "./search.tsx";

const ROW = 20;

type Props = { n: number; at?: string | undefined; label: string; isSearchable?: boolean };

/** A JSON value as a tree of lines. */
export function TreeView({ n, at, label, isSearchable = true }: Props) {
  const tree = useMemo(() => makeTree({ n, at }), [n, at]);
  const current = useSignal(0);
  const id = useId();
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
  const copy = (source: ValueSource) => void copyText(() => api.raw(source), "the value");
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows.row(current.value);
    if (isCombined(event)) {
      const source = row && valueSource({ n, at }, row.path);
      if (source && comboOf(event) === "Mod+C" && getSelection()?.isCollapsed) {
        event.preventDefault();
        copy(source);
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
            "aria-activedescendant": `${id}-${current.value}`,
            onKeyDown,
          }}
          render={(index) => (
            <TreeLine
              key={index}
              id={`${id}-${index}`}
              row={rows.row(index)}
              isCurrent={index === current.value}
              source={{ n, at }}
              onCopy={copy}
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
