import { markHidden } from "../pure/marks.ts";

/** Text with its hidden characters shown. They stay in the text, so that a copy is the same. */
export function Marked({ text }: { text: string }) {
  const pieces = markHidden(text);
  const first = pieces[0];
  if (pieces.length === 1 && first && !first.mark) {
    return <>{first.text}</>;
  }
  return (
    <>
      {pieces.map(({ text: part, mark }, index) =>
        mark ? (
          <span
            key={index}
            class={`mark mark-${mark.kind}`}
            title={mark.title}
            data-label={mark.label}
          >
            <span class="mark-text">{part}</span>
          </span>
        ) : (
          part
        ),
      )}
    </>
  );
}
