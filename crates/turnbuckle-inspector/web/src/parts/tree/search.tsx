import { signal, useSignal } from "@preact/signals";
import { api, type ValueSource } from "../../api/client.ts";
import { Icon } from "../icon.tsx";
import { setOpen, type Tree } from "./model.ts";

const searchText = signal("");

/** The field that searches in a tree: Enter goes to the next match, Shift+Enter to the last one. */
export function TreeSearch(props: {
  source: ValueSource;
  tree: Tree;
  onFound: (row: number) => void;
}) {
  const { source, tree } = props;
  const result = useSignal<{ paths: string[]; at: number; hasMore: boolean } | undefined>(
    undefined,
  );
  const find = async (by: number) => {
    const last = result.value;
    if (last && last.paths.length > 0) {
      const at = (last.at + by + last.paths.length) % last.paths.length;
      result.value = { ...last, at };
      await reveal(last.paths[at] ?? "");
      return;
    }
    if (searchText.value === "") {
      return;
    }
    const found = await api.search(source, searchText.value, 0);
    const paths = [...new Set(found.matches.map((match) => match.path))];
    result.value = { paths, at: 0, hasMore: found.next !== null };
    if (paths[0] !== undefined) {
      await reveal(paths[0]);
    }
  };
  const reveal = async (path: string) => {
    const parts = path === "" ? [] : path.split(".");
    for (let depth = 0; depth < parts.length; depth += 1) {
      setOpen(tree.open, parts.slice(0, depth).join("."), true);
    }
    await tree.rows.refresh();
    const row = await api.rowOf(source, tree.open, path);
    if (row !== null) {
      props.onFound(row);
    }
  };
  const found = result.value;
  return (
    <div class="tree-search">
      <Icon name="search" />
      <input
        type="search"
        aria-label="Search in the value"
        placeholder="Search in the value"
        value={searchText}
        onInput={(event) => {
          searchText.value = event.currentTarget.value;
          result.value = undefined;
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") {
            event.preventDefault();
            void find(event.shiftKey ? -1 : 1);
          }
        }}
      />
      {found && (
        <span class="tree-found" role="status">
          {found.paths.length === 0
            ? "nothing found"
            : `${found.at + 1} of ${found.paths.length}${found.hasMore ? "+" : ""}`}
        </span>
      )}
    </div>
  );
}
