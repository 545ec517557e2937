// Which values of a tree are open. The program keeps the value; the page holds the lines in view.

import { api, type OpenValues, type ValueSource } from "../../api/client.ts";
import type { ValueRow } from "../../api/types.ts";
import { RowWindow } from "../../store/windows.ts";

/** A message of at most this many bytes is open in whole from the start. */
const OPEN_BYTES = 20_000;
const OPEN_DEPTH = 32;

/** In a longer one, values with at most this many members are open, for a few levels. */
const OPEN_CHILDREN = 40;
const OPEN_ROUNDS = 6;

export type Tree = { rows: RowWindow<ValueRow>; open: OpenValues; fault: string | undefined };

/** Returns a tree of a value, with its small values open. */
export function makeTree(source: ValueSource): Tree {
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
export function valueSource({ n, at }: ValueSource, path: string): ValueSource | undefined {
  if (path === "") {
    return { n, at };
  }
  if (at === undefined) {
    return { n, at: path };
  }
  return at.includes("-") ? undefined : { n, at: `${at}.${path}` };
}

/** Opens or closes a value. */
export function setOpen({ depth, toggled }: OpenValues, path: string, isWanted: boolean): void {
  const isOpenByDepth = (path === "" ? 0 : path.split(".").length) < depth;
  if (isOpenByDepth === isWanted) {
    toggled.delete(path);
  } else {
    toggled.add(path);
  }
}
