import type { Header, HttpFacts } from "../../api/types.ts";
import { Button, Failure, Skeleton } from "../../parts/bits.tsx";
import { Marked } from "../../parts/marked.tsx";
import { TreeView } from "../../parts/tree/tree.tsx";
import { closeEntry, showEntry } from "../../store/actions.ts";
import { CopyMenu } from "../result/copy.tsx";
import { useEntry } from "../result/entry.ts";
import { RawText } from "../result/raw.tsx";
import { StatusTag } from "../result/status.tsx";

/** An entry of the timeline in full. */
export function EntryPane({ n }: { n: number }) {
  const detail = useEntry(n);
  const entry = detail?.entry;
  const isMessage = entry?.kind === "sent" || entry?.kind === "received";
  const other = entry?.answer ?? entry?.about ?? undefined;
  return (
    <>
      <div class="pane-head">
        <h3>#{n}</h3>
        {entry && entry.status !== "none" && <StatusTag status={entry.status} />}
        {entry?.method && (
          <code class="entry-method">
            <Marked text={entry.method} />
          </code>
        )}
        <span class="space" />
        {other !== undefined && (
          <Button
            label={entry?.answer ? `Response #${other}` : `Request #${other}`}
            onClick={() => showEntry(other)}
          />
        )}
        {isMessage && <CopyMenu n={n} />}
        <Button icon="close" label="Close the entry" isBare keys="Esc" onClick={closeEntry} />
      </div>
      {!detail ? (
        <Skeleton rows={4} />
      ) : detail.http ? (
        <Http facts={detail.http} />
      ) : isMessage ? (
        <TreeView n={n} label={`Message ${n}`} isSearchable={false} />
      ) : (
        <RawText n={n} />
      )}
    </>
  );
}

function Http({ facts }: { facts: HttpFacts }) {
  return (
    <div class="scroll http" tabIndex={0} role="region" aria-label="HTTP exchange">
      {facts.error && <Failure text={facts.error} />}
      <p class="http-line">
        <b>{facts.method}</b> <Marked text={facts.path} />
      </p>
      <Headers headers={facts.request} />
      {facts.status !== null && (
        <>
          <p class="http-line">
            <b>HTTP {facts.status}</b>
          </p>
          <Headers headers={facts.response} />
        </>
      )}
    </div>
  );
}

function Headers({ headers }: { headers: readonly Header[] }) {
  return (
    <dl class="headers">
      {headers.map(({ name, value }, index) => (
        <div key={index}>
          <dt>
            <Marked text={name} />
          </dt>
          <dd>
            <Marked text={value} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
