import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { Marked } from "../marked.tsx";

type Props = {
  id: string;
  helpId: string | undefined;
  placeholder?: string | undefined;
  isNumber: boolean;
  isSecret: boolean;
  isLong: boolean;
  value: string;
  name: string;
  complete: ((name: string, typed: string) => Promise<string[]>) | undefined;
  onChange: (typed: string) => void;
};

const ASK_AFTER_MS = 120;
const MAX_SHOWN = 12;

/** A line of text, with the values that the server suggests for it. */
export function Completed(props: Props) {
  const { id, helpId, isLong, value, name, complete, onChange } = props;
  const values = useSignal<string[]>([]);
  const current = useSignal(-1);
  const asked = useRef(0);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);

  const ask = (typed: string) => {
    if (!complete) {
      return;
    }
    asked.current += 1;
    const turn = asked.current;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      complete(name, typed).then(
        (found) => {
          if (turn === asked.current) {
            values.value = found.slice(0, MAX_SHOWN);
            current.value = -1;
          }
        },
        () => {
          values.value = [];
        },
      );
    }, ASK_AFTER_MS);
  };
  const choose = (chosen: string) => {
    asked.current += 1;
    values.value = [];
    onChange(chosen);
  };
  const type = (typed: string) => {
    onChange(typed);
    ask(typed);
  };

  if (isLong) {
    return (
      <textarea
        id={id}
        aria-describedby={helpId ?? ""}
        class="grows"
        rows={Math.min(14, value.split("\n").length)}
        value={value}
        spellcheck={false}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    );
  }
  if (props.isSecret) {
    return (
      <input
        id={id}
        type="password"
        aria-describedby={helpId ?? ""}
        autocomplete="off"
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    );
  }
  const listId = `${id}-values`;
  const isOpen = values.value.length > 0;
  const combobox = complete
    ? {
        role: "combobox" as const,
        "aria-autocomplete": "list" as const,
        "aria-expanded": isOpen,
        "aria-controls": listId,
        "aria-activedescendant": current.value >= 0 ? `${listId}-${current.value}` : "",
      }
    : {};
  return (
    <div class="completed">
      <input
        id={id}
        aria-describedby={helpId ?? ""}
        placeholder={props.placeholder ?? ""}
        inputMode={props.isNumber ? "decimal" : "text"}
        {...combobox}
        value={value}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => type(event.currentTarget.value)}
        onFocus={(event) => ask(event.currentTarget.value)}
        onBlur={() => {
          asked.current += 1;
          values.value = [];
        }}
        onKeyDown={(event) => {
          if (!isOpen) {
            return;
          }
          const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
          const chosen = values.value[current.value];
          if (by !== 0) {
            current.value = (current.value + by + values.value.length) % values.value.length;
          } else if (event.key === "Enter" && chosen !== undefined) {
            choose(chosen);
          } else if (event.key === "Escape") {
            values.value = [];
            event.stopPropagation();
          } else {
            return;
          }
          event.preventDefault();
        }}
      />
      {isOpen && (
        <div class="completed-list" role="listbox" id={listId} aria-label={`Values of ${name}`}>
          {values.value.map((one, index) => (
            <div
              key={one}
              id={`${listId}-${index}`}
              role="option"
              aria-selected={index === current.value}
              onPointerDown={(event) => {
                event.preventDefault();
                choose(one);
              }}
            >
              <Marked text={one} />
            </div>
          ))}
        </div>
      )}
    </div>
  );
}
