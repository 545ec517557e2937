import { useRef } from "preact/hooks";
import { formatJson } from "../../pure/edit.ts";
import { lineAndColumn, readJson } from "../../pure/json.ts";

type Props = { label?: string; text: string; onChange: (text: string) => void };

/** The editor of the JSON text of the arguments, which is sent as it stands. */
export function RawEditor({ label = "Arguments as JSON", text, onChange }: Props) {
  const numbers = useRef<HTMLPreElement>(null);
  const { fault } = readJson(text);
  const lines = text.split("\n").length;
  const where = fault && lineAndColumn(text, fault.at);
  return (
    <div class="editor">
      <div class="editor-body">
        <pre class="editor-lines" aria-hidden="true" ref={numbers}>
          {Array.from({ length: lines }, (_, line) => line + 1).join("\n")}
        </pre>
        <textarea
          class="code"
          aria-label={label}
          aria-invalid={fault !== undefined}
          spellcheck={false}
          autocomplete="off"
          wrap="off"
          rows={Math.max(8, Math.min(lines + 1, 40))}
          value={text}
          onInput={(event) => onChange(event.currentTarget.value)}
          onScroll={(event) => {
            if (numbers.current) {
              numbers.current.scrollTop = event.currentTarget.scrollTop;
            }
          }}
        />
      </div>
      <div class="editor-foot">
        {fault && where ? (
          <button
            type="button"
            class="field-fault"
            onClick={(event) => {
              const area = event.currentTarget
                .closest(".editor")
                ?.querySelector<HTMLTextAreaElement>("textarea");
              area?.focus();
              area?.setSelectionRange(fault.at, fault.at + 1);
            }}
          >
            Line {where.line}, column {where.column}: {fault.sentence}
          </button>
        ) : (
          <button type="button" class="field-action" onClick={() => onChange(formatJson(text))}>
            Format
          </button>
        )}
      </div>
    </div>
  );
}
