import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { api } from "../../api/client.ts";
import type { Block, Blocks } from "../../api/types.ts";
import { Failure, Skeleton } from "../../parts/bits.tsx";
import { Icon } from "../../parts/icon.tsx";
import { TreeView } from "../../parts/tree/tree.tsx";
import { BlockView } from "./block.tsx";
import { PlainResponse } from "./failure.tsx";

const COUNT = 60;

type Loaded = Omit<Blocks, "from">;

/** The content of a result, block by block. More blocks are loaded when the end comes into view. */
export function BlocksView({ n, hasFailed }: { n: number; hasFailed: boolean }) {
  const loaded = useSignal<Loaded | undefined>(undefined);
  const error = useSignal<string | undefined>(undefined);
  const end = useRef<HTMLDivElement>(null);
  const isLoading = useRef(false);

  const more = async () => {
    const have = loaded.value?.blocks ?? [];
    if (isLoading.current || (loaded.value && have.length >= loaded.value.total)) {
      return;
    }
    isLoading.current = true;
    try {
      const part = await api.blocks(n, have.length, COUNT);
      loaded.value = { ...part, blocks: [...have, ...part.blocks] };
    } catch (failure) {
      error.value = failure instanceof Error ? failure.message : String(failure);
    }
    isLoading.current = false;
  };
  // The view is made anew for each response.
  useEffect(() => {
    void more();
  }, []);
  // The end moves with each part.
  useEffect(() => {
    const element = end.current;
    if (!element) {
      return;
    }
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) {
          void more();
        }
      },
      { root: element.parentElement, rootMargin: "600px" },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [loaded.value]);

  if (error.value !== undefined) {
    return <Failure text={error.value} />;
  }
  if (!loaded.value) {
    return <Skeleton rows={4} />;
  }
  const { blocks, total, structured } = loaded.value;
  // A response without blocks, such as an error, is shown as it is.
  if (total === 0 && structured === null) {
    return <PlainResponse n={n} />;
  }
  return (
    <div
      class={`scroll blocks ${hasFailed ? "has-failed" : ""}`}
      tabIndex={0}
      role="region"
      aria-label="Content"
    >
      {blocks.map((block: Block) => (
        <BlockView key={block.path} n={n} block={block} />
      ))}
      {structured !== null && <Structured n={n} path={structured} />}
      <div ref={end} class="blocks-end">
        {blocks.length < total && `${blocks.length} of ${total} blocks`}
      </div>
    </div>
  );
}

function Structured({ n, path }: { n: number; path: string }) {
  const isOpen = useSignal(true);
  return (
    <div class="block">
      <button
        type="button"
        class="block-head block-toggle"
        aria-expanded={isOpen.value}
        onClick={() => {
          isOpen.value = !isOpen.value;
        }}
      >
        <Icon name={isOpen.value ? "down" : "right"} />
        structured content
      </button>
      {isOpen.value && (
        <div class="block-tree">
          <TreeView n={n} at={path} label="Structured content" isSearchable={false} />
        </div>
      )}
    </div>
  );
}
