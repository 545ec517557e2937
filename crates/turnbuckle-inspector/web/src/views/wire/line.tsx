import type { Entry, EntryKind } from "../../api/types.ts";
import { Marked } from "../../parts/marked.tsx";
import { clock, duration, size } from "../../pure/format.ts";
import { sessionName } from "../../store/state.ts";

const KINDS: Record<EntryKind, { sign: string; title: string }> = {
  sent: { sign: "→", title: "sent" },
  received: { sign: "←", title: "received" },
  http: { sign: "HTTP", title: "HTTP exchange" },
  stderr: { sign: "err", title: "line of stderr" },
  log: { sign: "log", title: "log message" },
  life: { sign: "●", title: "connection" },
  noise: { sign: "!", title: "output that is not a message" },
};

export function WireHeader() {
  return (
    <div class="entry entry-head" role="row">
      <span role="columnheader">#</span>
      <span role="columnheader">time</span>
      <span role="columnheader" class="entry-session">
        server
      </span>
      <span role="columnheader">kind</span>
      <span role="columnheader">method or text</span>
      <span role="columnheader" class="entry-id">
        id
      </span>
      <span role="columnheader">status</span>
      <span role="columnheader" class="is-figure">
        took
      </span>
      <span role="columnheader" class="is-figure">
        size
      </span>
    </div>
  );
}

type Props = {
  index: number;
  entry: Entry | undefined;
  isSelected: boolean;
  onClick: () => void;
};

/** An entry of the timeline as a row of the table. */
export function EntryLine({ index, entry, isSelected, onClick }: Props) {
  if (!entry) {
    return (
      <div class="entry" role="row" aria-rowindex={index + 1}>
        <span role="gridcell" />
      </div>
    );
  }
  const { sign, title } = KINDS[entry.kind];
  const name = sessionName(entry.session);
  return (
    <div
      id={`entry-${index}`}
      class={`entry kind-${entry.kind} status-${entry.status} ${isSelected ? "is-selected" : ""}`}
      role="row"
      aria-rowindex={index + 1}
      aria-selected={isSelected}
      onClick={onClick}
    >
      <span role="gridcell" class="entry-n">
        {entry.n}
      </span>
      <span role="gridcell" class="entry-n">
        {clock(entry.atUs)}
      </span>
      <span role="gridcell" class="entry-session">
        <Marked text={name} />
      </span>
      <span role="gridcell" class="entry-kind" title={title}>
        <span aria-hidden="true">{sign}</span>
        <span class="sr-only">{title}</span>
      </span>
      <span role="gridcell" class="entry-text">
        {entry.method && (
          <span>
            <Marked text={entry.method} />
          </span>
        )}
        {entry.summary && (
          <span class="entry-summary">
            <Marked text={entry.summary} />
          </span>
        )}
      </span>
      <span role="gridcell" class="entry-id">
        {entry.id ?? ""}
      </span>
      <span role="gridcell" class="entry-status">
        {statusText(entry)}
      </span>
      <span role="gridcell" class="is-figure">
        {entry.durationUs !== null && duration(entry.durationUs)}
      </span>
      <span role="gridcell" class="is-figure">
        {entry.size > 0 && size(entry.size)}
      </span>
    </div>
  );
}

function statusText({ status, httpStatus }: Entry): string {
  if (httpStatus !== null) {
    return String(httpStatus);
  }
  switch (status) {
    case "none":
      return "";
    case "timedOut":
      return "timed out";
    case "open":
      return "waiting";
    case "ok":
    case "error":
    case "cancelled":
      return status;
  }
}
