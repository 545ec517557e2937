import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { api } from "../../api/client.ts";
import { Icon } from "../../parts/icon.tsx";
import { copyText } from "../../store/actions.ts";

const FORMATS = [
  { id: "command", title: "as a command of turnbuckle", said: "the command" },
  { id: "curl", title: "as curl", said: "the curl command" },
  { id: "json", title: "as JSON", said: "the JSON" },
] as const;

/** The menu that copies an exchange. */
export function CopyMenu({ n }: { n: number }) {
  const isOpen = useSignal(false);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen.value) {
      return;
    }
    box.current?.querySelector<HTMLElement>('[role="menuitem"]')?.focus();
    const close = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) {
        isOpen.value = false;
      }
    };
    document.addEventListener("pointerdown", close);
    return () => document.removeEventListener("pointerdown", close);
  }, [isOpen.value, isOpen]);
  const move = (event: KeyboardEvent) => {
    const items = [...(box.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])];
    const at = items.indexOf(document.activeElement as HTMLElement);
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const by = event.key === "ArrowDown" ? 1 : -1;
      items[(at + by + items.length) % items.length]?.focus();
    } else if (event.key === "Escape") {
      event.stopPropagation();
      isOpen.value = false;
      box.current?.querySelector<HTMLElement>("button")?.focus();
    }
  };
  return (
    <div class="menu" ref={box} onKeyDown={move}>
      <button
        type="button"
        class="button button-plain button-bare"
        aria-label="Copy the exchange"
        title="Copy the exchange"
        aria-haspopup="menu"
        aria-expanded={isOpen.value}
        onClick={() => {
          isOpen.value = !isOpen.value;
        }}
      >
        <Icon name="copy" />
      </button>
      {isOpen.value && (
        <div class="menu-list" role="menu" aria-label="Copy the exchange">
          {FORMATS.map(({ id, title, said }) => (
            <button
              key={id}
              type="button"
              role="menuitem"
              tabIndex={-1}
              onClick={() => {
                isOpen.value = false;
                void copyText(() => api.copy(n, id), said);
              }}
            >
              Copy {title}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
