import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { api, checkAddress } from "../../api/client.ts";
import type { CheckRun, Finding, Session, Severity } from "../../api/types.ts";
import { Button, Empty, Failure, Skeleton } from "../../parts/bits.tsx";
import { Icon } from "../../parts/icon.tsx";
import { WebLink } from "../../parts/link.tsx";
import { Marked } from "../../parts/marked.tsx";
import { plural } from "../../pure/format.ts";
import { attempt } from "../../store/actions.ts";
import { versionOf } from "../../store/state.ts";

const SEVERITIES: Record<Severity, { label: string; tone: string; title: string }> = {
  error: { label: "must", tone: "error", title: "A requirement (MUST) is broken" },
  warning: { label: "should", tone: "warning", title: "A recommendation (SHOULD) is not followed" },
  note: { label: "note", tone: "info", title: "A remark" },
};

/** The findings of the checks of a server. */
export function FindingsPane({ session }: { session: Session }) {
  const run = useSignal<CheckRun | undefined>(undefined);
  const error = useSignal<string | undefined>(undefined);
  const version = versionOf(`check/${session.id}`);
  // The run follows its version.
  useEffect(() => {
    let isCurrent = true;
    api.check(session.id).then(
      (found) => {
        if (isCurrent) {
          run.value = found;
        }
      },
      (failure: Error) => {
        error.value = failure.message;
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [session.id, version]);
  const start = () => void attempt(() => api.startCheck(session.id));
  const found = run.value;
  return (
    <>
      <div class="pane-head">
        <h2>Findings</h2>
        {found && found.state !== "idle" && <Totals run={found} />}
        <span class="space" />
        {found?.state === "done" && (
          <a
            class="button button-plain"
            href={checkAddress(session.id)}
            download={`findings-${session.id}.json`}
          >
            <Icon name="save" />
            <span>Save</span>
          </a>
        )}
        {found && found.state !== "idle" && (
          <Button
            icon="again"
            label={found.state === "running" ? "Running" : "Check again"}
            isDisabled={found.state === "running"}
            onClick={start}
          />
        )}
      </div>
      {found?.state === "running" && (
        <progress class="bar" max={found.total} value={found.done} aria-label="Checks" />
      )}
      {error.value && <Failure text={error.value} />}
      {found?.state === "failed" && (
        <Failure text={found.error ?? "The server could not be checked."} />
      )}
      {!found ? (
        !error.value && <Skeleton rows={4} />
      ) : found.state === "idle" ? (
        <Empty icon="findings" title="Check the server against the specification">
          <p>
            The checks open connections of their own, and call no tool that may change something.
          </p>
          <Button kind="primary" icon="play" label="Run the checks" onClick={start} />
        </Empty>
      ) : (
        <FindingList run={found} />
      )}
    </>
  );
}

function Totals({ run }: { run: CheckRun }) {
  return (
    <span class="totals" role="status">
      <span class="figure">
        {run.state === "running"
          ? `${run.done} of ${run.total} checks`
          : plural(run.total, "check")}
      </span>
      <span class="figure quiet">
        {run.passed} passed, {run.skipped} skipped
      </span>
    </span>
  );
}

function FindingList({ run }: { run: CheckRun }) {
  if (run.findings.length === 0) {
    return run.state === "done" ? <Empty icon="findings" title="No findings" /> : null;
  }
  return (
    <div class="scroll findings" tabIndex={0} role="region" aria-label="Findings">
      {run.findings.map((finding, index) => (
        <FindingView key={index} finding={finding} />
      ))}
      {run.leftOut > 0 && <p class="note">{plural(run.leftOut, "finding")} left out.</p>}
    </div>
  );
}

function FindingView({ finding }: { finding: Finding }) {
  const { label, tone, title } = SEVERITIES[finding.severity];
  return (
    <article class={`finding finding-${tone}`}>
      <div class="finding-head">
        <span class={`tag tag-${tone}`} title={title}>
          {label}
        </span>
        <code>{finding.check}</code>
        {finding.revision && <span class="quiet">{finding.revision}</span>}
        {finding.link && <WebLink url={finding.link}>specification</WebLink>}
      </div>
      <p class="finding-message">
        <Marked text={finding.message} />
      </p>
      {finding.advice && (
        <p class="quiet">
          <Marked text={finding.advice} />
        </p>
      )}
      {finding.evidence.length > 0 && (
        <details>
          <summary>{plural(finding.evidence.length, "message")}</summary>
          {finding.evidence.map((one, index) => (
            <pre key={index} class="raw">
              <Marked text={one} />
            </pre>
          ))}
        </details>
      )}
    </article>
  );
}
