import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api } from "../../api/client.ts";
import type { EntryDetail } from "../../api/types.ts";
import { Marked } from "../../parts/marked.tsx";
import { rawAt, stringAt } from "../../pure/edit.ts";
import { shownValue } from "../../pure/form.ts";
import { setWireFilter } from "../../store/actions.ts";

type Progress = { n: number; done: string; total: string | undefined; message: string | undefined };

const METHOD = "notifications/progress";

/** The newest progress of a request, and the number of messages about it. */
export function Related({ n, detail }: { n: number; detail: EntryDetail }) {
  const progress = useSignal<Progress | undefined>(undefined);
  const others = detail.related.filter((one) => one !== n && one !== detail.entry.answer);
  const last = others.at(-1);
  useEffect(() => {
    if (last === undefined) {
      return;
    }
    let isCurrent = true;
    void newestProgress(others).then(
      (found) => {
        if (isCurrent && found) {
          progress.value = found;
        }
      },
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [last]);
  const shown = progress.value;
  if (others.length === 0) {
    return null;
  }
  const part = shown && Number(shown.done) / Number(shown.total);
  return (
    <div class="related">
      {shown && (
        <>
          {part !== undefined && Number.isFinite(part) && (
            <progress max={1} value={part} aria-label="Progress" />
          )}
          <span class="figure">
            {shown.done}
            {shown.total !== undefined && ` of ${shown.total}`}
          </span>
          {shown.message !== undefined && (
            <span class="related-text">
              <Marked text={shown.message} />
            </span>
          )}
        </>
      )}
      <span class="space" />
      <button type="button" class="field-action" onClick={() => setWireFilter(`about:${n}`)}>
        {others.length === 1 ? "1 message about it" : `${others.length} messages about it`}
      </button>
    </div>
  );
}

/** Returns the newest progress among the last entries. */
async function newestProgress(entries: readonly number[]): Promise<Progress | undefined> {
  for (const n of entries.slice(-4).reverse()) {
    const { entry, text } = await api.entry(n);
    if (entry.method === METHOD) {
      const at = (name: string) => rawAt(text, ["params", name]);
      const total = at("total");
      return {
        n,
        done: shownValue(at("progress")),
        total: total && shownValue(total),
        message: stringAt(text, ["params", "message"]),
      };
    }
  }
  return undefined;
}
