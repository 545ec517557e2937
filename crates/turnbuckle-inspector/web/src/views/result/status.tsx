import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { rawAddress } from "../../api/client.ts";
import type { EntryDetail, EntryStatus, Session } from "../../api/types.ts";
import { Button } from "../../parts/bits.tsx";
import { Icon } from "../../parts/icon.tsx";
import { duration, size } from "../../pure/format.ts";
import { cancelRequest, showEntry } from "../../store/actions.ts";
import { CopyMenu } from "./copy.tsx";
import { useEntry } from "./entry.ts";

const STATUS: Record<EntryStatus, { label: string; tone: string }> = {
  none: { label: "sent", tone: "quiet" },
  open: { label: "waiting", tone: "info" },
  ok: { label: "ok", tone: "ok" },
  error: { label: "error", tone: "error" },
  cancelled: { label: "cancelled", tone: "warning" },
  timedOut: { label: "timed out", tone: "error" },
};

export function StatusTag({ status }: { status: EntryStatus }) {
  const { label, tone } = STATUS[status];
  return <span class={`tag tag-${tone}`}>{label}</span>;
}

/** The line above a result: status, time, size, and what can be done with the exchange. */
export function RunStatus({ session, detail }: { session: Session; detail: EntryDetail }) {
  const { entry } = detail;
  const answer = useEntry(entry.answer ?? undefined);
  const isOpen = entry.status === "open";
  return (
    <div class="pane-head run-status">
      <StatusTag status={entry.status} />
      <span class="figure" role="status">
        {isOpen ? (
          <Elapsed n={entry.n} timeoutMs={detail.timeoutMs} />
        ) : (
          entry.durationUs !== null && duration(entry.durationUs)
        )}
      </span>
      {answer && <span class="figure quiet">{size(answer.entry.size)}</span>}
      {answer?.entry.summary && <span class="run-summary">{answer.entry.summary}</span>}
      <span class="space" />
      {isOpen && (
        <Button
          icon="stop"
          label="Cancel"
          onClick={() => void cancelRequest(session.id, entry.n)}
        />
      )}
      <CopyMenu n={entry.n} />
      {entry.answer !== null && (
        <a
          class="button button-plain button-bare"
          href={rawAddress({ n: entry.answer })}
          download
          aria-label="Save the response"
          title="Save the response"
        >
          <Icon name="save" />
        </a>
      )}
      <Button
        icon="wire"
        label={`Show #${entry.n} on the wire`}
        isBare
        onClick={() => showEntry(entry.n)}
      />
    </div>
  );
}

/** The time that the page has waited. The time of the exchange comes from the program. */
function Elapsed({ n, timeoutMs }: { n: number; timeoutMs: number | null }) {
  const seconds = useSignal(0);
  // Begins anew for each request.
  useEffect(() => {
    const start = performance.now();
    const timer = setInterval(() => {
      seconds.value = Math.round((performance.now() - start) / 100) / 10;
    }, 100);
    return () => clearInterval(timer);
  }, [n]);
  return (
    <>
      {seconds.value.toFixed(1)} s
      {timeoutMs !== null && (
        <span
          class="quiet"
          title="The time without a sign of the server after which it is given up"
        >
          {" "}
          of {timeoutMs / 1000} s
        </span>
      )}
    </>
  );
}
