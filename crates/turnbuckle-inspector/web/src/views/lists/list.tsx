import { useEffect, useMemo } from "preact/hooks";
import { api } from "../../api/client.ts";
import type { ItemKind, ItemRow, Session } from "../../api/types.ts";
import { Button, Empty, Failure, HintTag, Skeleton, shownHints } from "../../parts/bits.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Marked } from "../../parts/marked.tsx";
import { VirtualList } from "../../parts/virtual.tsx";
import { count, modelSize } from "../../pure/format.ts";
import { attempt, selectItem, setFilter, showFirst } from "../../store/actions.ts";
import { itemKey, place, versionOf } from "../../store/state.ts";
import { RowWindow } from "../../store/windows.ts";
import { SECTIONS, sectionFacts, summaryOf } from "../sections.ts";
import { useListKeys } from "./keys.ts";

const ROW = 42;

type Loaded = {
  window: RowWindow<ItemRow>;
  facts: { total: number; error: string | null; isLoading: boolean };
};

function load(id: string, kind: ItemKind): Loaded {
  const facts: Loaded["facts"] = { total: 0, error: null, isLoading: true };
  const window = new RowWindow<ItemRow>(async (from, size) => {
    const filter = place.peek().filters[`${id}/${kind}`] ?? "";
    const part = await api.items(id, kind, filter, from, size);
    Object.assign(facts, { total: part.total, error: part.error, isLoading: part.isLoading });
    return { total: part.matching, rows: part.rows };
  });
  return { window, facts };
}

/** A list of the server: tools, resources, templates, prompts, skills or tasks. */
export function ListPane({ session, kind }: { session: Session; kind: ItemKind }) {
  const filterKey = `${session.id}/${kind}`;
  const filter = place.value.filters[filterKey] ?? "";
  const { window, facts } = useMemo(() => load(session.id, kind), [session.id, kind]);
  const version = versionOf(`items/${session.id}/${kind}`);
  // The rows follow the version and the filter.
  useEffect(() => void window.refresh(), [window, version, filter]);
  void window.changes.value;
  const first = filter === "" ? window.row(0)?.key : undefined;
  useEffect(() => {
    if (first !== undefined) {
      showFirst(filterKey, first);
    }
  }, [filterKey, first]);
  const { title, one } = sectionFacts(kind);
  const summary = summaryOf(session, kind);
  const keys = useListKeys(window, itemKey.value, filter, selectItem);
  const onShow = useMemo(() => (from: number, to: number) => window.show(from, to), [window]);

  return (
    <>
      <div class="pane-head">
        <h2>{title}</h2>
        <span class="count" role="status">
          {window.isEmpty.value
            ? ""
            : filter === ""
              ? count(facts.total)
              : `${count(window.total)} of ${count(facts.total)}`}
        </span>
        {summary && kind === "tools" && summary.size > 0 && (
          <span class="quiet list-size" title="The definitions, which a model is given">
            {modelSize(summary.size)}
          </span>
        )}
        {facts.isLoading && !window.isEmpty.value && <span class="spinner" title="Loading" />}
        <span class="space" />
        <Button
          icon="again"
          label={`Ask for the ${title.toLowerCase()} again`}
          isBare
          onClick={() => void attempt(() => api.session(session.id, "refresh"))}
        />
      </div>
      <div class="filter">
        <Icon name="search" />
        <input
          type="search"
          data-filter
          aria-label={`Filter the ${title.toLowerCase()}`}
          placeholder={`Filter ${title.toLowerCase()}`}
          value={filter}
          spellcheck={false}
          onInput={(event) => setFilter(filterKey, event.currentTarget.value)}
          onKeyDown={keys.onFilterKey}
        />
        <kbd>/</kbd>
      </div>
      {(window.error.value ?? facts.error) && (
        <Failure text={window.error.value ?? facts.error ?? ""} />
      )}
      {window.isEmpty.value && !window.error.value ? (
        <Skeleton rows={8} />
      ) : window.total === 0 ? (
        <Nothing session={session} kind={kind} isFiltered={filter !== "" && facts.total > 0} />
      ) : (
        <VirtualList
          total={window.total}
          rowHeight={ROW}
          current={keys.current.value}
          onShow={onShow}
          attributes={{
            role: "listbox",
            "aria-label": title,
            "aria-activedescendant":
              keys.current.value >= 0 ? `item-${keys.current.value}` : undefined,
            onKeyDown: keys.onListKey,
            class: "items",
          }}
          render={(index) => {
            const row = window.row(index);
            return (
              <ItemLine
                key={index}
                index={index}
                row={row}
                total={window.total}
                isSelected={row !== undefined && row.key === itemKey.value}
                isCurrent={index === keys.current.value}
                onClick={() => {
                  if (row) {
                    keys.current.value = index;
                    selectItem(row.key);
                  }
                }}
              />
            );
          }}
        />
      )}
      <p class="sr-only">{`A ${one} is opened with Enter.`}</p>
    </>
  );
}

type LineProps = {
  index: number;
  total: number;
  row: ItemRow | undefined;
  isSelected: boolean;
  isCurrent: boolean;
  onClick: () => void;
};

function ItemLine({ index, total, row, isSelected, isCurrent, onClick }: LineProps) {
  const shown = shownHints(row?.hints ?? [], true);
  return (
    <div
      id={`item-${index}`}
      class={`item ${isSelected ? "is-selected" : ""} ${isCurrent ? "is-current" : ""}`}
      role="option"
      aria-selected={isSelected}
      aria-setsize={total}
      aria-posinset={index + 1}
      aria-label={row ? undefined : "Loading"}
      onClick={onClick}
    >
      {row && (
        <>
          <span class="item-name">
            <Marked text={row.name} />
          </span>
          <span class="item-tags">
            {row.fault && (
              <span class="tag tag-error" title={row.fault}>
                unusable
              </span>
            )}
            {shown.map((hint) => (
              <HintTag key={hint} hint={hint} />
            ))}
          </span>
          <span class="item-about">
            <Marked text={row.description ?? row.title ?? ""} />
          </span>
        </>
      )}
    </div>
  );
}

function Nothing(props: { session: Session; kind: ItemKind; isFiltered: boolean }) {
  const { icon, title, one } = sectionFacts(props.kind);
  const { session, kind, isFiltered } = props;
  if (isFiltered) {
    return (
      <Empty icon="search" title={`No ${one} matches`}>
        <Button label="Clear the filter" onClick={() => setFilter(`${session.id}/${kind}`, "")} />
      </Empty>
    );
  }
  const isOffered = summaryOf(session, kind) !== undefined;
  const offered = SECTIONS.filter((section) => (summaryOf(session, section.id)?.total ?? 0) > 0);
  return (
    <Empty icon={icon} title={`No ${title.toLowerCase()}`}>
      <p>
        {session.connection.state !== "ready"
          ? "The server is not connected."
          : isOffered
            ? "The server's list is empty."
            : `The server has no ${title.toLowerCase()}.`}
      </p>
      {offered.length > 0 && session.connection.state === "ready" && (
        <p>It has {offered.map((section) => section.title.toLowerCase()).join(", ")}.</p>
      )}
    </Empty>
  );
}
