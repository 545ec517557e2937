import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

type Props = { label: string; class?: string; onClose: () => void; children: ComponentChildren };

/** A modal dialog. Escape, or a click outside, closes it, and the focus goes back to where it was. */
export function Dialog({ label, class: name = "", onClose, children }: Props) {
  const box = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    box.current?.showModal();
    box.current?.querySelector<HTMLElement>("[data-focus]")?.focus();
    return () => {
      if (before instanceof HTMLElement) {
        before.focus();
      }
    };
  }, []);
  return (
    <dialog
      ref={box}
      class={`dialog ${name}`}
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === box.current) {
          onClose();
        }
      }}
    >
      <div class="dialog-inner">{children}</div>
    </dialog>
  );
}
