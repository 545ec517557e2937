import { useEffect } from "preact/hooks";
import type { ItemDefinition, ItemKind, Session } from "../../api/types.ts";
import { Empty, Skeleton, Tabs } from "../../parts/bits.tsx";
import { TreeView } from "../../parts/tree/tree.tsx";
import { clock, duration } from "../../pure/format.ts";
import type { ResultTab } from "../../pure/place.ts";
import { changePlace, linkEntry } from "../../store/actions.ts";
import { openQuestions, place } from "../../store/state.ts";
import { QuestionView } from "../inbox/question.tsx";
import { requestName } from "../workbench/request.ts";
import { BlocksView } from "./blocks.tsx";
import { useEntry } from "./entry.ts";
import { RawText } from "./raw.tsx";
import { Related } from "./related.tsx";
import { RunStatus } from "./status.tsx";

type Props = {
  session: Session;
  kind: ItemKind;
  draft: string;
  definition: ItemDefinition | undefined;
};

/** The result of the newest request of an item, and the ones before it. */
export function ResultPane({ session, kind, draft }: Props) {
  const runs = place.value.runs[draft] ?? [];
  // Questions about a call of another item wait there.
  const isOfOthers = (n: number) =>
    !runs.includes(n) && Object.values(place.value.runs).some((all) => all.includes(n));
  const questions = openQuestions.value.filter(
    ({ session: of, about }) => of === session.id && (about === null || !isOfOthers(about)),
  );
  const n = runs[0];
  const asked = questions.length > 0 && (
    <div class="asked scroll">
      {questions.map((question) => (
        <QuestionView key={question.id} question={question} isInline />
      ))}
    </div>
  );
  if (n === undefined) {
    return (
      <>
        {asked}
        <Empty icon="play" title="No result yet">
          <p>{requestName(kind)} it, and the result is here.</p>
        </Empty>
      </>
    );
  }
  return (
    <>
      {asked}
      <Run key={n} session={session} kind={kind} n={n} draft={draft} />
    </>
  );
}

type RunProps = { session: Session; kind: ItemKind; n: number; draft: string };

function Run({ session, kind, n, draft }: RunProps) {
  const first = useEntry(n, true);
  const repeated = useEntry(first?.newest ?? undefined);
  const detail = first?.newest ? repeated : first;
  const answer = detail?.entry.answer ?? undefined;
  useEffect(() => {
    if (answer !== undefined) {
      linkEntry(answer);
    }
  }, [answer]);
  const runs = place.value.runs[draft] ?? [];
  if (!detail || !first) {
    return <Skeleton rows={5} />;
  }
  const { entry } = detail;
  const tab = place.value.result;
  const tabs: { id: ResultTab; title: string }[] = [
    { id: "blocks", title: kind === "prompts" ? "Messages" : "Content" },
    { id: "tree", title: "Tree" },
    { id: "raw", title: "Raw" },
  ];
  const isError = entry.status === "error" || entry.answer === null;
  return (
    <>
      <RunStatus session={session} detail={detail} />
      <Related n={n} detail={first} />
      <div class="result-tabs">
        <Tabs
          label="Result"
          tabs={tabs}
          current={tab}
          onSelect={(result) => changePlace(() => ({ result }))}
        />
        {runs.length > 1 && (
          <select
            class="runs"
            aria-label="Earlier requests"
            value={String(n)}
            onChange={(event) => {
              const chosen = Number(event.currentTarget.value);
              const others = runs.filter((run) => run !== chosen);
              changePlace((now) => ({ runs: { ...now.runs, [draft]: [chosen, ...others] } }));
            }}
          >
            {[...runs]
              .sort((a, b) => b - a)
              .map((run) => (
                <option key={run} value={String(run)}>
                  {run === n
                    ? `#${run} at ${clock(entry.atUs)}${entry.durationUs === null ? "" : `, ${duration(entry.durationUs)}`}`
                    : `#${run}`}
                </option>
              ))}
          </select>
        )}
      </div>
      <div class="result-body" role="tabpanel" aria-label="Result">
        {entry.answer === null ? (
          entry.status === "open" ? (
            <Skeleton rows={4} />
          ) : (
            <Empty icon="alert" title="No response">
              <p>{detail.entry.summary ?? "The request ended without a response."}</p>
            </Empty>
          )
        ) : tab === "blocks" ? (
          <BlocksView key={entry.answer} n={entry.answer} hasFailed={isError} />
        ) : tab === "tree" ? (
          <TreeView n={entry.answer} label="Result" />
        ) : (
          <RawText n={entry.answer} />
        )}
      </div>
    </>
  );
}
