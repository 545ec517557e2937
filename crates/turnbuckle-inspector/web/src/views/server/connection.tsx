import { api } from "../../api/client.ts";
import type { Session, Step } from "../../api/types.ts";
import { Button } from "../../parts/bits.tsx";
import { Icon } from "../../parts/icon.tsx";
import { WebLink } from "../../parts/link.tsx";
import { Marked } from "../../parts/marked.tsx";
import { attempt, restart, setWireFilter } from "../../store/actions.ts";
import { stepName, stepsOf } from "../rail/status.ts";

/** The pane of a server that was not connected yet. */
export function ConnectionPage({ session }: { session: Session }) {
  return (
    <>
      <div class="pane-head">
        <h2>
          <Marked text={session.name} />
        </h2>
        <code class="quiet connection-address">
          <Marked text={session.address} />
        </code>
      </div>
      <div class="scroll connection-page">
        <ConnectionPane session={session} />
      </div>
    </>
  );
}

/** The steps of a connection, and the one that failed with its reasons. */
export function ConnectionPane({ session }: { session: Session }) {
  const { connection } = session;
  const stderr = "stderr" in connection ? connection.stderr : [];
  return (
    <section class="connection" aria-label="Connection">
      {(connection.state === "connecting" || connection.state === "failed") && (
        <Steps
          session={session}
          current={connection.step}
          hasFailed={connection.state === "failed"}
        />
      )}
      {connection.state === "failed" && (
        <div class="chain" role="alert">
          {connection.errors.map((error, index) => (
            <p key={index} class={index === 0 ? "chain-first" : ""}>
              <Marked text={error} />
            </p>
          ))}
        </div>
      )}
      {connection.state === "ended" && (
        <div class="chain" role="alert">
          <p class="chain-first">
            <Marked text={connection.reason} />
          </p>
          {connection.exitCode !== null && <p>Exit code {connection.exitCode}.</p>}
        </div>
      )}
      {connection.state === "closed" && <p>You closed the session.</p>}
      {session.loginUrl && (
        <div class="chain chain-login">
          <p class="chain-first">The server wants a login.</p>
          <WebLink url={session.loginUrl} class="button button-primary">
            Log in
          </WebLink>
        </div>
      )}
      {stderr.length > 0 && (
        <>
          <h2>Last lines of stderr</h2>
          <pre class="raw stderr">
            <Marked text={stderr.join("\n")} />
          </pre>
        </>
      )}
      <div class="action-row">
        {connection.state !== "connecting" && (
          <Button
            icon="again"
            kind="primary"
            label={connection.state === "failed" ? "Try again" : "Restart"}
            keys="R"
            onClick={() => void restart(session.id)}
          />
        )}
        {connection.state === "failed" && connection.step === "authorization" && (
          <Button
            label="Log in"
            onClick={() => void attempt(() => api.session(session.id, "login"))}
          />
        )}
        <Button
          icon="wire"
          label="Show on the wire"
          onClick={() => setWireFilter(`session:${session.id}`)}
        />
      </div>
    </section>
  );
}

type StepsProps = { session: Session; current: Step; hasFailed: boolean };

function Steps({ session, current, hasFailed }: StepsProps) {
  const steps = stepsOf(session);
  const at = steps.indexOf(current);
  return (
    <ol class="steps">
      {steps.map((step, index) => {
        const state =
          index < at ? "done" : index > at ? "waiting" : hasFailed ? "failed" : "running";
        return (
          <li key={step} class={`step step-${state}`}>
            {state === "done" ? (
              <Icon name="check" />
            ) : state === "failed" ? (
              <Icon name="alert" />
            ) : (
              <span class={state === "running" ? "spinner" : "step-dot"} />
            )}
            <span>{stepName(step)}</span>
            <span class="sr-only">{state}</span>
          </li>
        );
      })}
    </ol>
  );
}
