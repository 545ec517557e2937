import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { api } from "../../api/client.ts";
import type { ItemKind, ItemRow } from "../../api/types.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Marked } from "../../parts/marked.tsx";
import { matchScore, rank } from "../../pure/fuzzy.ts";
import { openItem } from "../../store/actions.ts";
import { allCommands, keyLabel } from "../../store/commands.ts";
import { isItemKind, overlay, session } from "../../store/state.ts";
import { sectionFacts } from "../sections.ts";

const MAX_COMMANDS = 12;
const MAX_ITEMS = 5;

type Found = { kind: ItemKind; row: ItemRow };
type Line = { id: string; title: string; note: string; keys?: string | undefined; run: () => void };

/** The palette: commands and items by name. */
export function Palette() {
  const query = useSignal("");
  const found = useSignal<{ query: string; items: Found[] }>({ query: "", items: [] });
  const current = useSignal(0);
  const list = useRef<HTMLDivElement>(null);
  const close = () => {
    overlay.value = undefined;
  };

  useEffect(() => {
    let isCurrent = true;
    void findItems(query.value).then((items) => {
      if (isCurrent) {
        found.value = { query: query.value, items };
      }
    });
    return () => {
      isCurrent = false;
    };
  }, [query.value, found]);

  const id = session.value?.id;
  // Items of an earlier query stay until the new ones are there, but for those that do not match.
  const items = found.value.items.filter(
    ({ row }) =>
      found.value.query === query.value || matchScore(row.name, query.value) !== undefined,
  );
  const commands = rank(allCommands(), query.value, (command) => command.title);
  const lines: Line[] = [
    ...commands.slice(0, MAX_COMMANDS).map((command) => ({
      id: command.id,
      title: command.title,
      note: command.group,
      keys: command.keys && keyLabel(command.keys),
      run: command.run,
    })),
    ...items.map(({ kind, row }) => ({
      id: `${kind}/${row.key}`,
      title: row.name,
      note: sectionFacts(kind).one,
      run: () => id !== undefined && openItem(id, kind, row.key),
    })),
  ];
  const at = Math.min(current.value, lines.length - 1);
  const run = (line: Line | undefined) => {
    if (line) {
      close();
      line.run();
    }
  };
  const move = (by: number) => {
    current.value = (at + by + lines.length) % Math.max(1, lines.length);
    list.current?.children[current.value]?.scrollIntoView({ block: "nearest" });
  };
  return (
    <Dialog label="Commands" class="palette" onClose={close}>
      <div class="palette-input">
        <Icon name="search" />
        <input
          data-focus
          role="combobox"
          aria-label="Command or item"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={lines.length > 0 ? `palette-${at}` : undefined}
          placeholder="Command, tool, resource or prompt"
          spellcheck={false}
          value={query.value}
          onInput={(event) => {
            query.value = event.currentTarget.value;
            current.value = 0;
          }}
          onKeyDown={(event) => {
            if (event.key === "ArrowDown" || event.key === "ArrowUp") {
              event.preventDefault();
              move(event.key === "ArrowDown" ? 1 : -1);
            } else if (event.key === "Enter") {
              event.preventDefault();
              event.stopPropagation();
              run(lines[at]);
            }
          }}
        />
      </div>
      <div class="palette-list" id="palette-list" role="listbox" aria-label="Commands" ref={list}>
        {lines.map((line, index) => (
          <div
            key={line.id}
            id={`palette-${index}`}
            role="option"
            class="palette-line"
            aria-selected={index === at}
            onClick={() => run(line)}
            onPointerMove={() => {
              current.value = index;
            }}
          >
            <span class="palette-title">
              <Marked text={line.title} />
            </span>
            <span class="palette-note">{line.note}</span>
            {line.keys && <kbd>{line.keys}</kbd>}
          </div>
        ))}
      </div>
      {lines.length === 0 && <p class="palette-none">Nothing matches.</p>}
    </Dialog>
  );
}

/** Returns the first items of each list that match. */
async function findItems(query: string): Promise<Found[]> {
  const now = session.peek();
  if (!now || query.trim() === "") {
    return [];
  }
  const found = await Promise.all(
    now.lists.map(async ({ kind }) => {
      if (!isItemKind(kind)) {
        return [];
      }
      const { rows } = await api.items(now.id, kind, query, 0, MAX_ITEMS);
      return rows.map((row) => ({ kind, row }));
    }),
  ).catch(() => []);
  return found.flat();
}
