import type { ComponentChildren } from "preact";
import { api } from "../../api/client.ts";
import type { Session } from "../../api/types.ts";
import { Button } from "../../parts/bits.tsx";
import { Marked } from "../../parts/marked.tsx";
import { formatJson } from "../../pure/edit.ts";
import { duration, plural } from "../../pure/format.ts";
import { attempt, close, restart, selectSection, setSubscribed } from "../../store/actions.ts";
import { nameOf, overlay } from "../../store/state.ts";
import { SECTIONS, summaryOf } from "../sections.ts";
import { Automatic } from "./automatic.tsx";
import { ConnectionPane } from "./connection.tsx";

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** What a server says about itself, and the settings of its session. */
export function ServerPane({ session }: { session: Session }) {
  const { server } = session;
  return (
    <>
      <div class="pane-head">
        <h2>
          <Marked text={nameOf(session)} />
        </h2>
        {server?.version && (
          <span class="quiet">
            <Marked text={server.version} />
          </span>
        )}
        <span class="space" />
        <Button
          icon="play"
          label="Send a request"
          keys="S"
          isDisabled={session.connection.state !== "ready"}
          onClick={() => {
            overlay.value = "request";
          }}
        />
        <Button icon="again" label="Restart" keys="R" onClick={() => void restart(session.id)} />
        <Button icon="close" label="Close" onClick={() => void close(session.id)} />
      </div>
      <div class="scroll facts" tabIndex={0} role="region" aria-label="Server">
        {session.connection.state !== "ready" && <ConnectionPane session={session} />}
        <dl>
          <Fact name="Address">
            <code>
              <Marked text={session.address} />
            </code>
          </Fact>
          {server && (
            <>
              <Fact name="Revision">
                {server.revision}, {server.isLegacy ? "legacy" : "modern"} era
                {server.supportedRevisions.length > 0 && (
                  <span class="quiet"> of {server.supportedRevisions.join(", ")}</span>
                )}
              </Fact>
              {server.name && (
                <Fact name="Name">
                  <Marked text={server.name} />
                </Fact>
              )}
            </>
          )}
          {session.pid !== null && <Fact name="Process">{session.pid}</Fact>}
          {session.latencyUs !== null && <Fact name="Latency">{duration(session.latencyUs)}</Fact>}
          <Fact name="Connections">{session.connections}</Fact>
          {server?.hasLogging && (
            <Fact name="Log level">
              <select
                aria-label="Log level"
                value={session.logLevel ?? ""}
                onChange={(event) => {
                  const level = event.currentTarget.value;
                  void attempt(() => api.logLevel(session.id, level));
                }}
              >
                {session.logLevel === null && <option value="">not set</option>}
                {LEVELS.map((level) => (
                  <option key={level} value={level}>
                    {level}
                  </option>
                ))}
              </select>
            </Fact>
          )}
          <Fact name="Lists">
            <span class="links">
              {SECTIONS.filter(({ id }) => summaryOf(session, id)).map(({ id, title, one }) => (
                <button key={id} type="button" class="link" onClick={() => selectSection(id)}>
                  {plural(summaryOf(session, id)?.total ?? 0, one, title.toLowerCase())}
                </button>
              ))}
            </span>
          </Fact>
          {session.subscriptions.length > 0 && (
            <Fact name="Subscriptions">
              {session.subscriptions.map((uri) => (
                <div key={uri} class="subscription">
                  <code>
                    <Marked text={uri} />
                  </code>
                  <button
                    type="button"
                    class="field-action"
                    onClick={() => void setSubscribed(session.id, uri, false)}
                  >
                    unsubscribe
                  </button>
                </div>
              ))}
            </Fact>
          )}
        </dl>
        {server && <Automatic session={session} />}
        {server?.instructions && (
          <>
            <h2>Instructions</h2>
            <pre class="block-text">
              <Marked text={server.instructions} />
            </pre>
          </>
        )}
        {server && (
          <>
            <h2>Capabilities</h2>
            <p class="quiet">
              {server.canComplete ? "Completes arguments" : "Does not complete arguments"},{" "}
              {server.canSubscribe ? "takes subscriptions" : "takes no subscriptions"},{" "}
              {server.hasLogging ? "sends log messages" : "sends no log messages"}.{" "}
              {plural(session.lists.length, "list")}.
            </p>
            <pre class="raw">
              <Marked text={formatJson(server.capabilities)} />
            </pre>
          </>
        )}
      </div>
    </>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
