import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api } from "../../api/client.ts";
import type { EntryDetail } from "../../api/types.ts";
import { versionOf } from "../../store/state.ts";

/**
 * Returns an entry of the timeline in full. A request is read again until it has its response, and
 * after that too if it is followed: it can be repeated with answers to questions.
 */
export function useEntry(n: number | undefined, isFollowed = false): EntryDetail | undefined {
  const detail = useSignal<EntryDetail | undefined>(undefined);
  const isOpen = isFollowed || detail.value?.entry.n !== n || detail.value?.entry.status === "open";
  const version = isOpen ? versionOf("timeline") : 0;
  // An open request follows the timeline.
  useEffect(() => {
    if (n === undefined || !isOpen) {
      return;
    }
    let isCurrent = true;
    api.entry(n).then(
      (found) => {
        if (isCurrent) {
          detail.value = found;
        }
      },
      () => {
        // The entry was dropped from the timeline, or the program is away: what is shown stays.
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [n, version, isOpen]);
  return detail.value?.entry.n === n ? detail.value : undefined;
}
