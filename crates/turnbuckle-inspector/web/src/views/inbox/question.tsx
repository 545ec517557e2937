import { useSignal } from "@preact/signals";
import type { Fault, Question } from "../../api/types.ts";
import { Button } from "../../parts/bits.tsx";
import { FormView } from "../../parts/form/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { WebLink } from "../../parts/link.tsx";
import { Marked } from "../../parts/marked.tsx";
import { answerQuestion, setDraft } from "../../store/actions.ts";
import { place, sessionName } from "../../store/state.ts";
import { RawEditor } from "../workbench/editor.tsx";

export const QUESTION_TITLES = {
  form: "asks for values",
  url: "asks to visit a page",
  sampling: "asks for a model's answer",
  roots: "asks for the roots",
} as const;

/** A question of a server, with the answer to fill in. */
export function QuestionView({
  question,
  isInline = false,
}: {
  question: Question;
  isInline?: boolean;
}) {
  const { kind } = question;
  const key = `question/${question.id}`;
  const text = place.value.drafts[key] ?? initial(question);
  const isSent = useSignal(false);
  const faults = useSignal<Fault[]>([]);
  const name = sessionName(question.session);
  const isOpen = question.state === "open";
  const send = async (action: "accept" | "decline" | "cancel", anyway = false) => {
    isSent.value = true;
    const hasContent = action === "accept" && kind.kind !== "url";
    const content = hasContent ? (place.peek().drafts[key] ?? initial(question)) : null;
    faults.value = await answerQuestion(question.id, { action, content, anyway });
    isSent.value = false;
  };
  return (
    <section
      class={`question ${isInline ? "is-inline" : ""}`}
      aria-label={`${name} ${QUESTION_TITLES[kind.kind]}`}
    >
      <div class="pane-head">
        <Icon name="inbox" />
        <h2>
          <Marked text={name} /> {QUESTION_TITLES[kind.kind]}
        </h2>
        {!isOpen && <span class="tag tag-quiet">{question.state}</span>}
      </div>
      <div class={isInline ? "question-body" : "question-body scroll"}>
        <Ask
          question={question}
          text={text}
          faults={faults.value}
          onChange={(next) => {
            faults.value = [];
            setDraft(key, next);
          }}
        />
        {faults.value.length > 0 && (
          <div class="refusal" role="alert">
            <p class="refusal-title">Not sent: the answer does not fit.</p>
            <ul>
              {faults.value.map((fault) => (
                <li key={`${fault.path} ${fault.sentence}`}>
                  {fault.path !== "" && <code>{fault.path}</code>} <Marked text={fault.sentence} />
                </li>
              ))}
            </ul>
          </div>
        )}
      </div>
      {isOpen && (
        <footer class="action-bar">
          <div class="action-row">
            <Button
              kind="primary"
              label={kind.kind === "url" ? "Agree" : "Answer"}
              isDisabled={isSent.value}
              onClick={() => void send("accept")}
            />
            {faults.value.length > 0 && (
              <Button kind="danger" label="Send anyway" onClick={() => void send("accept", true)} />
            )}
            <Button
              label="Decline"
              isDisabled={isSent.value}
              onClick={() => void send("decline")}
            />
            <Button label="Cancel" isDisabled={isSent.value} onClick={() => void send("cancel")} />
          </div>
        </footer>
      )}
    </section>
  );
}

function initial({ kind }: Question): string {
  switch (kind.kind) {
    case "form":
      return kind.form.initial;
    case "sampling":
    case "roots":
      return kind.suggested;
    case "url":
      return "{}";
  }
}

type AskProps = {
  question: Question;
  text: string;
  faults: readonly Fault[];
  onChange: (text: string) => void;
};

function Ask({ question, text, faults, onChange }: AskProps) {
  const { kind, id } = question;
  switch (kind.kind) {
    case "form":
      return (
        <>
          <p class="question-message">
            <Marked text={kind.message} />
          </p>
          <FormView form={kind.form} context={{ id: `q-${id}`, text, faults, onChange }} />
        </>
      );
    case "url":
      return (
        <>
          <p class="question-message">
            <Marked text={kind.message} />
          </p>
          <p>
            The page is at <b class="host">{kind.host}</b>:
          </p>
          <code class="uri">
            <Marked text={kind.url} />
          </code>
          {kind.warnings.map((warning) => (
            <p key={warning} class="note note-warning">
              {warning}
            </p>
          ))}
          <p>
            <WebLink url={kind.url}>Open the page in a new tab</WebLink>
          </p>
        </>
      );
    case "sampling":
      return (
        <>
          <h3>Request</h3>
          <pre class="raw question-params">
            <Marked text={kind.params} />
          </pre>
          <h3>Answer</h3>
          <RawEditor label="Answer as JSON" text={text} onChange={onChange} />
        </>
      );
    case "roots":
      return <RawEditor label="Answer as JSON" text={text} onChange={onChange} />;
  }
}
