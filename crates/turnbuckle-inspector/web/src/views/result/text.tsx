import { useSignal } from "@preact/signals";
import { api } from "../../api/client.ts";
import { Button } from "../../parts/bits.tsx";
import { renderMarkdown } from "../../parts/markdown.tsx";
import { Marked } from "../../parts/marked.tsx";
import { size } from "../../pure/format.ts";
import { attempt } from "../../store/actions.ts";

type Props = { n: number; path: string; text: string; next: number | null; mime: string | null };

/** Text that looks like Markdown: a heading, a list, a fence, or emphasis. */
const LOOKS_LIKE_MARKDOWN = /^(#{1,6} |[-*] |\d+\. |```|> )|\*\*\S|\]\(\S/m;

/** The text of a block, piece by piece, as it was sent or as Markdown. */
export function TextView({ n, path, text, next, mime }: Props) {
  const pieces = useSignal<{ texts: string[]; next: number | null }>({ texts: [text], next });
  const isRendered = useSignal(mime === "text/markdown");
  const more = async () => {
    const from = pieces.value.next;
    const part = from === null ? undefined : await attempt(() => api.textOf(n, path, from));
    if (part) {
      pieces.value = { texts: [...pieces.value.texts, part.text], next: part.next };
    }
  };
  const isOffered = mime === "text/markdown" || (mime === null && LOOKS_LIKE_MARKDOWN.test(text));
  const rendered = isRendered.value ? renderMarkdown(text) : undefined;
  return (
    <>
      {isOffered && (
        <button
          type="button"
          class="field-action block-action"
          onClick={() => {
            isRendered.value = !isRendered.value;
          }}
        >
          {isRendered.value ? "as it was sent" : "as Markdown"}
        </button>
      )}
      {isRendered.value && rendered === undefined && (
        <p class="note">The text is too long or too deep to be shown as Markdown.</p>
      )}
      {rendered ?? (
        <pre class="block-text">
          {pieces.value.texts.map((piece, index) => (
            <Marked key={index} text={piece} />
          ))}
        </pre>
      )}
      {rendered === undefined && pieces.value.next !== null && (
        <Button
          icon="down"
          label={`More, from ${size(pieces.value.next)}`}
          onClick={() => void more()}
        />
      )}
    </>
  );
}
