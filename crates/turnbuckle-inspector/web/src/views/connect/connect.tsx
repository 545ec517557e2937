import { useSignal } from "@preact/signals";
import { Button } from "../../parts/bits.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Marked } from "../../parts/marked.tsx";
import { connect, connectTo } from "../../store/actions.ts";
import { inspector, overlay } from "../../store/state.ts";

/** The dialog that connects to a URL, or to a server of the configuration. */
export function Connect() {
  const close = () => {
    overlay.value = undefined;
  };
  return (
    <Dialog label="Connect" class="connect" onClose={close}>
      <div class="pane-head">
        <h2>Connect</h2>
        <span class="space" />
        <Button icon="close" label="Close" isBare keys="Esc" onClick={close} />
      </div>
      <ConnectForm />
    </Dialog>
  );
}

/** The field for a URL, and the servers of the configuration. */
export function ConnectForm() {
  const url = useSignal("");
  const isBusy = useSignal(false);
  const start = async () => {
    isBusy.value = true;
    await connect({ source: "url", url: url.value.trim() });
    isBusy.value = false;
  };
  const servers = inspector.value?.servers ?? [];
  return (
    <div class="connect-body">
      <form
        class="connect-form"
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <label for="connect-url">URL of a server</label>
        <div class="connect-row">
          <input
            id="connect-url"
            data-focus
            type="text"
            inputMode="url"
            spellcheck={false}
            autocomplete="off"
            placeholder="http://localhost:8000/mcp"
            value={url.value}
            onInput={(event) => {
              url.value = event.currentTarget.value;
            }}
          />
          <button
            type="submit"
            class="button button-primary"
            disabled={isBusy.value || url.value.trim() === ""}
          >
            Connect
          </button>
        </div>
        <p class="quiet">
          A program is started from the command line only: <code>turnbuckle inspect -- CMD</code>
        </p>
      </form>
      {servers.length > 0 && (
        <>
          <h3>Servers of the configuration</h3>
          <ul class="connect-servers">
            {servers.map((server) => (
              <li key={`${server.name} ${server.address}`}>
                <button
                  type="button"
                  class="server-head server-other"
                  disabled={server.fault !== null}
                  onClick={() => void connectTo(server)}
                >
                  <span class="dot dot-none" />
                  <span class="server-name">
                    <Marked text={server.name} />
                  </span>
                  <span class="server-latency">{server.transport}</span>
                  <span class="server-state">
                    <Marked text={server.fault ?? server.address} />
                  </span>
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}
