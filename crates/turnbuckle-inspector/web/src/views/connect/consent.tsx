import type { Consent, ServerEntry } from "../../api/types.ts";
import { Button } from "../../parts/bits.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Marked } from "../../parts/marked.tsx";
import { agree } from "../../store/actions.ts";
import { overlay } from "../../store/state.ts";

type Props = { server: ServerEntry; consent: Consent };

/** The question before a server of a configuration file that was found is used for the first time. */
export function ConsentDialog({ server, consent }: Props) {
  const close = () => {
    overlay.value = undefined;
  };
  return (
    <Dialog label={`Use ${server.name}`} class="connect" onClose={close}>
      <div class="pane-head">
        <h2>
          Use <Marked text={server.name} />?
        </h2>
        <span class="space" />
        <Button icon="close" label="Close" isBare keys="Esc" onClick={close} />
      </div>
      <div class="connect-body">
        <p>
          <Marked text={consent.sentence} />
        </p>
        {server.origin !== null && (
          <code class="quiet">
            <Marked text={server.origin} />
          </code>
        )}
        <div class="action-row">
          <Button kind="primary" label="Use it" onClick={() => void agree(server, consent)} />
          <Button label="Cancel" onClick={close} />
        </div>
      </div>
    </Dialog>
  );
}
