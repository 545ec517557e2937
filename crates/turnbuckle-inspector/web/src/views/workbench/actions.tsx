import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api } from "../../api/client.ts";
import type { Fault, ItemDefinition, ItemKind, Session } from "../../api/types.ts";
import { Button } from "../../parts/bits.tsx";
import { Marked } from "../../parts/marked.tsx";
import { plural } from "../../pure/format.ts";
import { changePlace, setSubscribed } from "../../store/actions.ts";
import { place } from "../../store/state.ts";
import { requestName } from "./request.ts";

type Props = {
  session: Session;
  kind: ItemKind;
  definition: ItemDefinition;
  draft: string;
  text: string;
  refusal: { faults: Fault[]; canSendAnyway: boolean } | undefined;
  isSending: boolean;
  keys: string;
  onSend: () => void;
  onSendAnyway: () => void;
  onReset: () => void;
  /** Sends another request about the item, with the same parameters. */
  onSendOther: (method: string) => void;
};

/** The bar below the form: send, send anyway, subscribe, reset, and the reasons of a refusal. */
export function ActionBar(props: Props) {
  const { session, kind, definition, text, refusal, isSending, keys } = props;
  const isReady = session.connection.state === "ready";
  const uri = useUri(session, kind, definition.row.name, text);
  const isSubscribed = uri !== undefined && session.subscriptions.includes(uri);
  const isChanged = text !== definition.form.initial;
  return (
    <footer class="action-bar">
      {refusal && (
        <div class="refusal" role="alert">
          <p class="refusal-title">
            Not sent: {plural(refusal.faults.length, "value does", "values do")} not fit the schema.
          </p>
          <ul>
            {refusal.faults.slice(0, 8).map((fault) => (
              <li key={`${fault.path} ${fault.sentence}`}>
                {fault.path !== "" && <code>{fault.path}</code>} <Marked text={fault.sentence} />
              </li>
            ))}
          </ul>
        </div>
      )}
      <div class="action-row">
        <Button
          icon="play"
          kind="primary"
          label={requestName(kind)}
          keys={keys}
          isDisabled={!isReady || isSending}
          onClick={props.onSend}
        />
        {refusal?.canSendAnyway && (
          <Button label="Send anyway" kind="danger" onClick={props.onSendAnyway} />
        )}
        {definition.canSubscribe && uri !== undefined && (
          <Button
            icon="bell"
            label={isSubscribed ? "Subscribed" : "Subscribe"}
            isPressed={isSubscribed}
            isDisabled={!isReady}
            onClick={() => void setSubscribed(session.id, uri, !isSubscribed)}
          />
        )}
        {kind === "tasks" && (
          <Button
            icon="stop"
            label="Cancel the task"
            isDisabled={!isReady}
            onClick={() => props.onSendOther("tasks/cancel")}
          />
        )}
        {isChanged && <Button label="Reset" onClick={props.onReset} />}
        <span class="space" />
        <TimeoutChoice />
        {!isReady && <span class="quiet">The server is not connected.</span>}
        {kind === "templates" && uri !== undefined && (
          <code class="uri" title="The URI that is read">
            <Marked text={uri} />
          </code>
        )}
      </div>
    </footer>
  );
}

/** Returns the URI of an item. The program expands a template, and has no URI for wrong values. */
function useUri(session: Session, kind: ItemKind, name: string, args: string): string | undefined {
  const expanded = useSignal<string | undefined>(undefined);
  const isTemplate = kind === "templates";
  // The URI follows the arguments.
  useEffect(() => {
    if (!isTemplate) {
      return;
    }
    let isCurrent = true;
    api.expand(session.id, name, args).then(
      (uri) => {
        if (isCurrent) {
          expanded.value = uri;
        }
      },
      () => {
        if (isCurrent) {
          expanded.value = undefined;
        }
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [isTemplate, session.id, name, args]);
  return isTemplate ? expanded.value : name;
}

const TIMEOUTS = [5, 30, 120, 600] as const;

/** The choice of the time after which a request is given up. */
function TimeoutChoice() {
  const { timeoutMs } = place.value;
  return (
    <select
      class="runs"
      aria-label="Timeout"
      title="The time without a sign of the server after which a request is given up"
      value={timeoutMs === undefined ? "" : String(timeoutMs)}
      onChange={(event) => {
        const { value } = event.currentTarget;
        changePlace(() => ({ timeoutMs: value === "" ? undefined : Number(value) }));
      }}
    >
      <option value="">timeout</option>
      {TIMEOUTS.map((seconds) => (
        <option key={seconds} value={String(seconds * 1000)}>
          {seconds < 60 ? `${seconds} s` : `${seconds / 60} min`}
        </option>
      ))}
    </select>
  );
}
