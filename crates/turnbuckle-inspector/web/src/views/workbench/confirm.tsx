import { useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "../../parts/bits.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Marked } from "../../parts/marked.tsx";
import { changePlace } from "../../store/actions.ts";

type Props = { name: string; draft: string; onCancel: () => void; onCall: () => void };

/** The question before a tool is called that may destroy something. */
export function ConfirmCall({ name, draft, onCancel, onCall }: Props) {
  const box = useRef<HTMLDivElement>(null);
  // Before it is painted: Escape works as soon as it is seen.
  useLayoutEffect(() => box.current?.querySelector<HTMLElement>("button")?.focus(), []);
  return (
    <div
      class="confirm"
      role="alertdialog"
      aria-label="Call a destructive tool"
      ref={box}
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          event.stopPropagation();
          onCancel();
        }
      }}
    >
      <Icon name="alert" />
      <p>
        <b>
          <Marked text={name} />
        </b>{" "}
        is marked as destructive: a call may delete or overwrite something.
      </p>
      <div class="confirm-actions">
        <Button kind="danger" label="Call it" onClick={onCall} />
        <Button label="Cancel" onClick={onCancel} />
        <Button
          label="Call, and do not ask again"
          onClick={() => {
            changePlace(({ trusted }) => ({ trusted: [...trusted, draft].slice(-200) }));
            onCall();
          }}
        />
      </div>
    </div>
  );
}
