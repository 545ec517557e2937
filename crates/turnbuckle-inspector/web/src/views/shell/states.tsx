// What the page shows beside its panes: notices, and the states without a program.

import { Button, Empty } from "../../parts/bits.tsx";
import { notice, refusal } from "../../store/state.ts";

/** The failure or success of the last action. */
export function Notice() {
  const shown = notice.value;
  return (
    <div class="notices" role="status">
      {shown && (
        <div class={`notice notice-${shown.tone}`}>
          <span>{shown.text}</span>
          <Button
            icon="close"
            label="Dismiss"
            isBare
            onClick={() => {
              notice.value = undefined;
            }}
          />
        </div>
      )}
    </div>
  );
}

/** The page of a browser that is not logged in. */
export function Locked() {
  return (
    <main class="welcome">
      <Empty icon="alert" title="This page needs a new address">
        <p>The code of the address was used, or is older than five minutes.</p>
        {refusal.value && <p>turnbuckle says: {refusal.value}</p>}
        <p>
          Press <kbd>↵</kbd> in the terminal of <code>turnbuckle inspect</code>, and open the
          address that it prints.
        </p>
      </Empty>
    </main>
  );
}

/** The page while the program does not answer. */
export function Lost() {
  return (
    <main class="welcome">
      <Empty icon="alert" title="turnbuckle does not answer">
        <p>
          Start <code>turnbuckle inspect</code> again, and open the address that it prints.
        </p>
      </Empty>
    </main>
  );
}
