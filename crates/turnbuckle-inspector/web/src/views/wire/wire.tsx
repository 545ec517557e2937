import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { api } from "../../api/client.ts";
import type { Entry, FilterFault } from "../../api/types.ts";
import { Empty, Failure } from "../../parts/bits.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Marked } from "../../parts/marked.tsx";
import { Split } from "../../parts/split.tsx";
import { VirtualList } from "../../parts/virtual.tsx";
import { count } from "../../pure/format.ts";
import { isCombined } from "../../pure/keys.ts";
import { changePlace, closeEntry, toggleWire } from "../../store/actions.ts";
import { place, versionOf } from "../../store/state.ts";
import { RowWindow } from "../../store/windows.ts";
import { EntryPane } from "./entry.tsx";
import { EntryLine, WireHeader } from "./line.tsx";

const ROW = 24;

type Facts = { total: number; dropped: number; faults: FilterFault[] };

function load(): { window: RowWindow<Entry>; facts: Facts } {
  const facts: Facts = { total: 0, dropped: 0, faults: [] };
  const window = new RowWindow<Entry>(async (from, size) => {
    const part = await api.timeline(place.peek().wire.filter, from, size);
    Object.assign(facts, { total: part.total, dropped: part.dropped, faults: part.faults });
    return { total: part.matching, rows: part.entries };
  });
  return { window, facts };
}

const FILTERS = ["status:error", "method:tools/call", "kind:stderr", "kind:http", ">500ms"];

/** The drawer with everything that went over the wire. */
export function WireDrawer() {
  const { wire } = place.value;
  const { window, facts } = useMemo(load, []);
  const isFollowing = useSignal(true);
  const version = versionOf("timeline");
  // The rows follow the version and the filter.
  useEffect(() => void window.refresh(), [version, wire.filter]);
  void window.changes.value;
  const onShow = useMemo(() => (from: number, to: number) => window.show(from, to), [window]);
  const setFilter = (filter: string) => changePlace((now) => ({ wire: { ...now.wire, filter } }));

  return (
    <>
      <div class="pane-head wire-head">
        <button
          type="button"
          class="wire-toggle"
          aria-expanded={wire.isOpen}
          title="Show or hide the wire (W)"
          onClick={toggleWire}
        >
          <Icon name={wire.isOpen ? "down" : "right"} />
          <h2>Wire</h2>
          <span class="count">
            {wire.filter === ""
              ? count(facts.total)
              : `${count(window.total)} of ${count(facts.total)}`}
          </span>
        </button>
        {wire.isOpen && (
          <>
            <div class="filter wire-filter">
              <Icon name="search" />
              <input
                type="search"
                data-wire-filter
                aria-label="Filter the wire"
                placeholder="method:tools/call status:error kind:stderr >500ms text"
                value={wire.filter}
                spellcheck={false}
                onInput={(event) => setFilter(event.currentTarget.value)}
              />
            </div>
            <div class="wire-chips">
              {FILTERS.map((filter) => {
                const isOn = wire.filter.split(" ").includes(filter);
                return (
                  <button
                    key={filter}
                    type="button"
                    class="chip"
                    aria-pressed={isOn}
                    onClick={() => setFilter(toggleWord(wire.filter, filter))}
                  >
                    {filter}
                  </button>
                );
              })}
            </div>
            <span class="space" />
            {facts.dropped > 0 && (
              <span class="quiet" title="The oldest entries were dropped to bound memory and disk">
                {count(facts.dropped)} dropped
              </span>
            )}
            <button
              type="button"
              class="chip"
              aria-pressed={isFollowing.value}
              title="Stay at the newest entry"
              onClick={() => {
                isFollowing.value = !isFollowing.value;
              }}
            >
              follow
            </button>
          </>
        )}
      </div>
      {wire.isOpen && (
        <WireBody
          window={window}
          facts={facts}
          isFollowing={isFollowing.value}
          onFollow={(isAtEnd) => {
            isFollowing.value = isAtEnd;
          }}
          onShow={onShow}
        />
      )}
    </>
  );
}

/** Returns a filter with a word added, or without it if it is there. */
function toggleWord(filter: string, word: string): string {
  const words = filter.split(" ").filter((one) => one !== "");
  const others = words.filter((one) => one !== word);
  return (others.length < words.length ? others : [...words, word]).join(" ");
}

type BodyProps = {
  window: RowWindow<Entry>;
  facts: Facts;
  isFollowing: boolean;
  onFollow: (isAtEnd: boolean) => void;
  onShow: (from: number, to: number) => void;
};

function WireBody({ window, facts, isFollowing, onFollow, onShow }: BodyProps) {
  const { wire, sizes } = place.value;
  const box = useRef<HTMLDivElement>(null);
  const current = useSignal(-1);
  const select = (index: number) => {
    const row = window.row(index);
    if (row) {
      current.value = index;
      onFollow(false);
      changePlace((now) => ({ wire: { ...now.wire, entry: row.n, isLinked: true } }));
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (isCombined(event)) {
      return;
    }
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 };
    const by = steps[event.key];
    if (by !== undefined) {
      event.preventDefault();
      const start = current.value < 0 ? window.total - (by > 0 ? 1 : 0) : current.value;
      select(Math.max(0, Math.min(window.total - 1, start + by)));
    } else if (event.key === "Escape" && wire.entry !== undefined) {
      event.preventDefault();
      closeEntry();
    }
  };
  return (
    <div class="wire-body" ref={box}>
      <div class="wire-table">
        {facts.faults.map((fault) => (
          <p key={fault.word} class="field-fault wire-fault" role="alert">
            <code>{fault.word}</code> <Marked text={fault.sentence} />
          </p>
        ))}
        {window.error.value && <Failure text={window.error.value} />}
        {window.total === 0 && !window.isEmpty.value ? (
          <Empty
            icon="wire"
            title={wire.filter === "" ? "Nothing on the wire yet" : "No entry matches"}
          />
        ) : (
          <VirtualList
            total={window.total}
            rowHeight={ROW}
            current={current.value}
            isFollowing={isFollowing}
            onFollow={onFollow}
            onShow={onShow}
            header={<WireHeader />}
            attributes={{
              role: "grid",
              "aria-label": "Entries of the wire",
              "aria-rowcount": window.total,
              "aria-activedescendant": current.value >= 0 ? `entry-${current.value}` : undefined,
              onKeyDown,
              class: "entries",
            }}
            render={(index) => (
              <EntryLine
                key={index}
                index={index}
                entry={window.row(index)}
                isSelected={window.row(index)?.n === wire.entry}
                onClick={() => select(index)}
              />
            )}
          />
        )}
      </div>
      {wire.entry !== undefined && (
        <>
          <Split
            axis="x"
            label="Width of the entry"
            value={sizes.entry}
            min={0.2}
            max={0.8}
            step={0.02}
            isAfter
            measure={(event) => {
              const area = box.current?.getBoundingClientRect();
              return area ? (area.right - event.clientX) / area.width : sizes.entry;
            }}
            onChange={(entry) => changePlace((now) => ({ sizes: { ...now.sizes, entry } }))}
          />
          <div class="wire-entry" style={{ "--size": `${sizes.entry * 100}%` }}>
            <EntryPane key={wire.entry} n={wire.entry} />
          </div>
        </>
      )}
    </div>
  );
}
