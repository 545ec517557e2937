import type { Fault, ItemDefinition, ItemKind, Session } from "../../api/types.ts";
import { Button } from "../../parts/bits.tsx";
import { Marked } from "../../parts/marked.tsx";
import { plural } from "../../pure/format.ts";
import { setSubscribed } from "../../store/actions.ts";
import { expandTemplate, requestName } from "./request.ts";

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
};

/** The bar below the form: send, send anyway, subscribe, reset, and the reasons of a refusal. */
export function ActionBar(props: Props) {
  const { session, kind, definition, text, refusal, isSending, keys } = props;
  const isReady = session.connection.state === "ready";
  const uri =
    kind === "templates" ? expandTemplate(definition.row.name, text) : definition.row.name;
  const isSubscribed = session.subscriptions.includes(uri);
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
        {definition.canSubscribe && (
          <Button
            icon="bell"
            label={isSubscribed ? "Subscribed" : "Subscribe"}
            isPressed={isSubscribed}
            isDisabled={!isReady}
            onClick={() => void setSubscribed(session.id, uri, !isSubscribed)}
          />
        )}
        {isChanged && <Button label="Reset" onClick={props.onReset} />}
        {!isReady && <span class="quiet">The server is not connected.</span>}
        {kind === "templates" && (
          <code class="uri" title="The URI that is read">
            <Marked text={uri} />
          </code>
        )}
      </div>
    </footer>
  );
}
