import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect } from "preact/hooks";
import { api } from "../../api/client.ts";
import type { Fault, ItemDefinition, ItemKind, Session } from "../../api/types.ts";
import { Failure, HintTag, shownHints, Tabs } from "../../parts/bits.tsx";
import { FormView } from "../../parts/form/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Marked } from "../../parts/marked.tsx";
import { TreeView } from "../../parts/tree/tree.tsx";
import { modelSize } from "../../pure/format.ts";
import { attempt, changePlace, sendRequest, setDraft } from "../../store/actions.ts";
import { keyLabel, offerCommands } from "../../store/commands.ts";
import { narrowPage, place } from "../../store/state.ts";
import { sectionFacts } from "../sections.ts";
import { ActionBar } from "./actions.tsx";
import { completer } from "./complete.ts";
import { ConfirmCall } from "./confirm.tsx";
import { RawEditor } from "./editor.tsx";
import { paramsOf, requestName } from "./request.ts";

type Props = { session: Session; kind: ItemKind; definition: ItemDefinition; draft: string };

/** The definition of an item, the form of its arguments, and the button that sends them. */
export function ItemPane({ session, kind, definition, draft }: Props) {
  const { row, form } = definition;
  const text = place.value.drafts[draft] ?? form.initial;
  const refusal = useSignal<{ faults: Fault[]; canSendAnyway: boolean } | undefined>(undefined);
  const isAsking = useSignal(false);
  const isSending = useSignal(false);
  const { editor } = place.value;
  const isDestructive =
    definition.method === "tools/call" &&
    row.hints.includes("saysDestructive") &&
    !place.value.trusted.includes(draft);

  const change = (next: string) => {
    refusal.value = undefined;
    setDraft(draft, next);
  };
  const nameToSend = (args: string) =>
    kind === "templates"
      ? attempt(() => api.expand(session.id, row.name, args))
      : Promise.resolve(row.name);
  const send = async (anyway: boolean, method = definition.method) => {
    isAsking.value = false;
    isSending.value = true;
    // The newest text: a key can be pressed before the view of the last change is there.
    const newest = place.peek().drafts[draft] ?? form.initial;
    const name = await nameToSend(newest);
    const sent =
      name === undefined
        ? undefined
        : await sendRequest(session.id, draft, {
            method,
            params: paramsOf(kind, name, newest),
            anyway,
          });
    isSending.value = false;
    refusal.value = sent && "faults" in sent ? sent : undefined;
    // What is read because it is the first of its list does not take the list away.
    if (sent && "n" in sent && narrowPage.peek() === "work") {
      narrowPage.value = "result";
    }
  };
  const start = () => {
    if (isDestructive) {
      isAsking.value = true;
    } else {
      void send(false);
    }
  };

  const name = requestName(kind);
  // Before the item is painted: its key works as soon as it is seen.
  useLayoutEffect(() => {
    const isReady = session.connection.state === "ready";
    const keys = "Mod+Enter";
    const title = `${name} ${row.name}`;
    const command = { id: "send", title, group: "Item" as const, keys, isGlobal: true, run: start };
    offerCommands("item", isReady ? [command] : []);
    return () => offerCommands("item", []);
  });

  // A resource without arguments is read as soon as it is opened.
  const isReadOnOpen = kind === "resources" || kind === "skills";
  // Once for each item that is opened.
  useEffect(() => {
    const isReady = session.connection.state === "ready";
    if (isReadOnOpen && isReady && (place.peek().runs[draft]?.length ?? 0) === 0) {
      void send(false);
    }
  }, [draft]);

  const tabs = [
    ...(form.fields.length > 0 ? [{ id: "form" as const, title: "Form" }] : []),
    { id: "json" as const, title: "JSON" },
    { id: "definition" as const, title: "Definition" },
  ];
  const hasForm = form.fields.length > 0;
  const tab = editor === "form" && !hasForm ? "definition" : editor;
  const shownTabs = isReadOnOpen ? tabs.filter(({ id }) => id !== "json") : tabs;
  return (
    <>
      <header class="pane-head item-head">
        <Icon name={sectionFacts(kind).icon} />
        <h2 title={row.name}>
          <Marked text={row.name} />
        </h2>
        {row.title && row.title !== row.name && (
          <span class="item-title">
            <Marked text={row.title} />
          </span>
        )}
      </header>
      <div class="scroll">
        {(row.hints.length > 0 || kind === "tools") && (
          <div class="item-hints">
            {kind === "tools" && (
              <span class="quiet" title="The definition, which a model is given">
                {modelSize(row.size)}
              </span>
            )}
            {shownHints(row.hints, false).map((hint) => (
              <HintTag key={hint} hint={hint} />
            ))}
          </div>
        )}
        {row.fault && <Failure text={row.fault} />}
        {definition.description && <Description text={definition.description} />}
        <Tabs
          label="Arguments"
          tabs={shownTabs}
          current={tab}
          onSelect={(id) => changePlace(() => ({ editor: id }))}
        />
        <div class="tab-body" role="tabpanel" aria-label={tab}>
          {tab === "form" && (
            <FormView
              form={form}
              context={{
                id: "field",
                text,
                faults: refusal.value?.faults ?? [],
                onChange: change,
                complete: completer(session, kind, definition, text),
              }}
            />
          )}
          {tab === "json" && <RawEditor text={text} onChange={change} />}
          {tab === "definition" && (
            <TreeView
              n={definition.raw.n}
              at={`${definition.raw.start}-${definition.raw.end}`}
              label="Definition"
              isSearchable={false}
            />
          )}
        </div>
      </div>
      {isAsking.value && (
        <ConfirmCall
          name={row.name}
          draft={draft}
          onCancel={() => {
            isAsking.value = false;
          }}
          onCall={() => void send(false)}
        />
      )}
      <ActionBar
        session={session}
        kind={kind}
        definition={definition}
        draft={draft}
        text={text}
        refusal={refusal.value}
        isSending={isSending.value}
        keys={keyLabel("Mod+Enter")}
        onSend={start}
        onSendAnyway={() => void send(true)}
        onSendOther={(method) => void send(false, method)}
        onReset={() => change(form.initial)}
      />
    </>
  );
}

const LONG = 240;

function Description({ text }: { text: string }) {
  const isOpen = useSignal(false);
  const isLong = text.length > LONG || text.split("\n").length > 4;
  return (
    <div class="description">
      <p class={isLong && !isOpen.value ? "is-cut" : ""}>
        <Marked text={text} />
      </p>
      {isLong && (
        <button
          type="button"
          class="field-action"
          aria-expanded={isOpen.value}
          onClick={() => {
            isOpen.value = !isOpen.value;
          }}
        >
          {isOpen.value ? "less" : "more"}
        </button>
      )}
    </div>
  );
}
