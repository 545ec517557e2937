import { rawAddress } from "../../api/client.ts";
import { Skeleton } from "../../parts/bits.tsx";
import { Marked } from "../../parts/marked.tsx";
import { size } from "../../pure/format.ts";
import { useEntry } from "./entry.ts";

/** The bytes of a message as they were on the wire. */
export function RawText({ n }: { n: number }) {
  const detail = useEntry(n);
  if (!detail) {
    return <Skeleton rows={5} />;
  }
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Raw text">
      {detail.isRedacted && <p class="note">Values that are secrets are hidden.</p>}
      <pre class="raw">
        <Marked text={detail.text} />
      </pre>
      {detail.isCut && (
        <p class="note">
          These are the first {size(detail.text.length)} of {size(detail.entry.size)}.{" "}
          <a href={rawAddress({ n })} download>
            Save the whole message
          </a>
        </p>
      )}
    </div>
  );
}
