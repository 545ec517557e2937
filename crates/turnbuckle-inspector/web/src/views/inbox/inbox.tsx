import type { Question } from "../../api/types.ts";
import { Empty } from "../../parts/bits.tsx";
import { Marked } from "../../parts/marked.tsx";
import { clock } from "../../pure/format.ts";
import { changePlace } from "../../store/actions.ts";
import { inspector, narrowPage, openQuestions, place, sessionName } from "../../store/state.ts";
import { QUESTION_TITLES, QuestionView } from "./question.tsx";

const KEY = "inbox";

function current(): Question | undefined {
  const all = inspector.value?.inbox ?? [];
  return all.find((one) => one.id === place.value.items[KEY]) ?? openQuestions.value[0] ?? all[0];
}

/** The questions of all servers, the open ones first. */
export function InboxList() {
  const all = inspector.value?.inbox ?? [];
  const chosen = current();
  return (
    <>
      <div class="pane-head">
        <h2>Inbox</h2>
        <span class="count">{openQuestions.value.length} open</span>
      </div>
      {all.length === 0 ? (
        <Empty icon="inbox" title="No questions">
          <p>Questions of servers (sampling, elicitation, roots) wait here for your answer.</p>
        </Empty>
      ) : (
        <div class="scroll items">
          {all.map((question) => (
            <button
              key={question.id}
              type="button"
              class={`item ${question.id === chosen?.id ? "is-selected" : ""}`}
              aria-current={question.id === chosen?.id ? "true" : undefined}
              onClick={() => {
                changePlace(({ items }) => ({ items: { ...items, [KEY]: question.id } }));
                narrowPage.value = "work";
              }}
            >
              <span class="item-name is-text">{QUESTION_TITLES[question.kind.kind]}</span>
              <span class="item-tags">
                {question.isAutomatic && <span class="tag tag-quiet">without you</span>}
                <span class={`tag tag-${question.state === "open" ? "info" : "quiet"}`}>
                  {question.state}
                </span>
              </span>
              <span class="item-about">
                <Marked text={summary(question)} />
              </span>
            </button>
          ))}
        </div>
      )}
    </>
  );
}

function summary(question: Question): string {
  const name = sessionName(question.session);
  const message = "message" in question.kind ? `: ${question.kind.message}` : "";
  return `${clock(question.atUs)} ${name}${message}`;
}

/** The chosen question. */
export function InboxWork() {
  const chosen = current();
  return chosen ? (
    <QuestionView key={chosen.id} question={chosen} />
  ) : (
    <Empty icon="inbox" title="Nothing waits for you" />
  );
}
