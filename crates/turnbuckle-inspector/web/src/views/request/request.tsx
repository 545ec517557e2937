import { useSignal } from "@preact/signals";
import type { Fault, Session } from "../../api/types.ts";
import { Button } from "../../parts/bits.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Marked } from "../../parts/marked.tsx";
import { sendRequest, setDraft, showEntry } from "../../store/actions.ts";
import { nameOf, overlay, place } from "../../store/state.ts";
import { RawEditor } from "../workbench/editor.tsx";

const METHODS = [
  "ping",
  "server/discover",
  "tools/list",
  "tools/call",
  "resources/list",
  "resources/read",
  "resources/templates/list",
  "prompts/list",
  "prompts/get",
  "completion/complete",
  "logging/setLevel",
  "tasks/get",
  "tasks/cancel",
];

/** The dialog that sends any request: of any method, with any parameters, valid or not. */
export function RequestDialog({ session }: { session: Session }) {
  const key = `${session.id}/request`;
  const method = useSignal("ping");
  const isSending = useSignal(false);
  const faults = useSignal<Fault[]>([]);
  const text = place.value.drafts[key] ?? "{}";
  const close = () => {
    overlay.value = undefined;
  };
  const send = async () => {
    isSending.value = true;
    const params = place.peek().drafts[key] ?? "{}";
    const request = { method: method.value, params, anyway: true };
    const sent = await sendRequest(session.id, key, request);
    isSending.value = false;
    if (sent && "n" in sent) {
      close();
      showEntry(sent.n);
    } else {
      faults.value = sent?.faults ?? [];
    }
  };
  return (
    <Dialog label="Send a request" class="request" onClose={close}>
      <div class="pane-head">
        <h2>
          Send a request to <Marked text={nameOf(session)} />
        </h2>
        <span class="space" />
        <Button icon="close" label="Close" isBare keys="Esc" onClick={close} />
      </div>
      <form
        class="request-form"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <label for="request-method">Method</label>
        <input
          id="request-method"
          data-focus
          list="request-methods"
          class="code"
          spellcheck={false}
          autocomplete="off"
          value={method.value}
          onInput={(event) => {
            method.value = event.currentTarget.value;
          }}
        />
        <datalist id="request-methods">
          {METHODS.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
        <span>Parameters, sent as they stand</span>
        <div class="request-params">
          <RawEditor
            label="Parameters as JSON"
            text={text}
            onChange={(next) => setDraft(key, next)}
          />
        </div>
        {faults.value.map((fault) => (
          <p key={fault.path} class="field-fault" role="alert">
            <Marked text={`Not sent: ${fault.sentence}`} />
          </p>
        ))}
        <div class="action-row">
          <button
            type="submit"
            class="button button-primary"
            disabled={isSending.value || method.value === ""}
          >
            Send
          </button>
          <span class="quiet">The response is shown on the wire.</span>
        </div>
      </form>
    </Dialog>
  );
}
