import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { api } from "../../api/client.ts";
import type { ItemDefinition, ItemKind, Session } from "../../api/types.ts";
import { Empty, Failure, Skeleton } from "../../parts/bits.tsx";
import { Split } from "../../parts/split.tsx";
import { changePlace, draftKey } from "../../store/actions.ts";
import { itemKey, place, versionOf } from "../../store/state.ts";
import { ResultPane } from "../result/result.tsx";
import { sectionFacts } from "../sections.ts";
import { ItemPane } from "./item.tsx";

type Loaded = { of: string; definition?: ItemDefinition; error?: string };

/** The open item: its definition and form, and the results beside them. */
export function Workbench({ session, kind }: { session: Session; kind: ItemKind }) {
  const key = itemKey.value;
  const draft = draftKey();
  const loaded = useSignal<Loaded | undefined>(undefined);
  const version = versionOf(`items/${session.id}/${kind}`);
  const box = useRef<HTMLDivElement>(null);

  // The definition follows the version of its list.
  useEffect(() => {
    if (key === undefined || draft === undefined) {
      return;
    }
    let isCurrent = true;
    api.item(session.id, kind, key).then(
      (definition) => {
        if (isCurrent) {
          loaded.value = { of: draft, definition };
        }
      },
      (error: Error) => {
        // A definition that was there stays: the server may be away for a moment.
        if (isCurrent && loaded.value?.of !== draft) {
          loaded.value = { of: draft, error: error.message };
        }
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [session.id, kind, key, draft, version]);

  const { icon, one } = sectionFacts(kind);
  if (key === undefined || draft === undefined) {
    return (
      <Empty icon={icon} title={`Choose a ${one}`}>
        <p>
          <kbd>/</kbd> filters the list, <kbd>↑</kbd> <kbd>↓</kbd> move, <kbd>↵</kbd> opens.
        </p>
      </Empty>
    );
  }
  const current = loaded.value?.of === draft ? loaded.value : undefined;
  if (current?.error !== undefined) {
    return <Failure text={current.error} />;
  }
  const { sizes } = place.value;
  return (
    <div class="bench" ref={box}>
      <div class="bench-item" style={{ "--size": `${sizes.form * 100}%` }}>
        {current?.definition ? (
          <ItemPane
            key={draft}
            session={session}
            kind={kind}
            definition={current.definition}
            draft={draft}
          />
        ) : (
          <Skeleton rows={6} />
        )}
      </div>
      <Split
        axis="x"
        label="Width of the form"
        value={sizes.form}
        min={0.2}
        max={0.8}
        step={0.02}
        measure={(event) => {
          const area = box.current?.getBoundingClientRect();
          return area ? (event.clientX - area.left) / area.width : sizes.form;
        }}
        onChange={(form) => changePlace((now) => ({ sizes: { ...now.sizes, form } }))}
      />
      <div class="bench-result">
        <ResultPane session={session} kind={kind} draft={draft} definition={current?.definition} />
      </div>
    </div>
  );
}
