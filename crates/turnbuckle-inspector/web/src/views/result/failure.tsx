import { Failure, Skeleton } from "../../parts/bits.tsx";
import { Marked } from "../../parts/marked.tsx";
import { TreeView } from "../../parts/tree/tree.tsx";
import { rawAt, stringAt } from "../../pure/edit.ts";
import { useEntry } from "./entry.ts";

/** A response without content: a JSON-RPC error with its code, message and data, or any result. */
export function PlainResponse({ n }: { n: number }) {
  const detail = useEntry(n);
  if (!detail) {
    return <Skeleton rows={4} />;
  }
  const code = rawAt(detail.text, ["error", "code"]);
  const message = stringAt(detail.text, ["error", "message"]);
  return (
    <>
      {code !== undefined && (
        <Failure text={`Error ${code}`}>
          <p>
            <Marked text={message ?? ""} />
          </p>
        </Failure>
      )}
      <TreeView n={n} label="Response" isSearchable={false} />
    </>
  );
}
