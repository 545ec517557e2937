import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ItemRow } from "../../api/types.ts";
import { isCombined } from "../../pure/keys.ts";
import type { RowWindow } from "../../store/windows.ts";

type ListKeys = {
  /** The row that the keys are at; -1 before the first key. */
  current: Signal<number>;
  onListKey: (event: KeyboardEvent) => void;
  onFilterKey: (event: KeyboardEvent) => void;
};

/** Keys of a list and of its filter: arrows move, Enter opens, Escape clears the filter. */
export function useListKeys(
  window: RowWindow<ItemRow>,
  selected: string | undefined,
  filter: string,
  open: (key: string) => void,
): ListKeys {
  const current = useSignal(-1);
  // Another list or filter begins anew.
  useEffect(() => {
    current.value = -1;
  }, [window, filter]);

  const move = (event: KeyboardEvent): boolean => {
    if (isCombined(event)) {
      return false;
    }
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
    const letters: Record<string, number> = { j: 1, k: -1 };
    const isInput = event.target instanceof HTMLInputElement;
    const by = steps[event.key] ?? (isInput ? undefined : letters[event.key]);
    if (by !== undefined) {
      current.value = Math.max(0, Math.min(window.total - 1, startRow() + by));
    } else if (!isInput && (event.key === "Home" || event.key === "End")) {
      current.value = event.key === "Home" ? 0 : window.total - 1;
    } else if (event.key === "Enter") {
      const row = window.row(Math.max(0, current.value));
      if (row) {
        open(row.key);
      }
    } else {
      return false;
    }
    event.preventDefault();
    return true;
  };
  const startRow = () => {
    if (current.value >= 0) {
      return current.value;
    }
    for (let index = 0; index < window.total; index += 1) {
      const row = window.row(index);
      if (row === undefined) {
        break;
      }
      if (row.key === selected) {
        return index;
      }
    }
    return -1;
  };
  return { current, onListKey: move, onFilterKey: move };
}
