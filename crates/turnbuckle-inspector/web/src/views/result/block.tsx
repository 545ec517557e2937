import type { Block, BlockKind } from "../../api/types.ts";
import { Icon } from "../../parts/icon.tsx";
import { Marked } from "../../parts/marked.tsx";
import { TreeView } from "../../parts/tree/tree.tsx";
import { size } from "../../pure/format.ts";
import { openItem } from "../../store/actions.ts";
import { session } from "../../store/state.ts";
import { BlobView } from "./blob.tsx";
import { TextView } from "./text.tsx";

/** A block of content. */
export function BlockView({ n, block }: { n: number; block: Block }) {
  const { content } = block;
  const name = content.kind === "text" || content.kind === "blob" ? content.uri : null;
  const mime = "mime" in content ? content.mime : null;
  const isPlain = block.role === null && name === null && mime === null && !block.annotations;
  return (
    <article class={`block ${block.role ? `role-${block.role}` : ""}`}>
      {(!isPlain || content.kind !== "text") && (
        <div class="block-head">
          {block.role && <span class="role">{block.role}</span>}
          <span>{blockName(content)}</span>
          {name !== null && (
            <code>
              <Marked text={name} />
            </code>
          )}
          {mime !== null && <span>{mime}</span>}
          {content.kind === "blob" && <span>{size(content.size)}</span>}
          {block.annotations && (
            <code class="annotations" title="Annotations">
              <Marked text={block.annotations} />
            </code>
          )}
        </div>
      )}
      <Content n={n} path={block.path} content={content} />
    </article>
  );
}

function blockName(content: BlockKind): string {
  switch (content.kind) {
    case "blob":
      return /^(image|audio|video)\//.exec(content.mime ?? "")?.[1] ?? "bytes";
    case "other":
      return "unknown block";
    case "text":
    case "link":
      return content.kind;
  }
}

function Content({ n, path, content }: { n: number; path: string; content: BlockKind }) {
  switch (content.kind) {
    case "text":
      return (
        <TextView n={n} path={path} text={content.text} next={content.next} mime={content.mime} />
      );
    case "blob":
      return <BlobView n={n} path={content.blob} mime={content.mime} />;
    case "link":
      return (
        <div class="block-link">
          <Icon name="link" />
          <div>
            <button
              type="button"
              class="link"
              onClick={() => {
                const id = session.value?.id;
                if (id !== undefined) {
                  openItem(id, "resources", content.uri);
                }
              }}
            >
              <Marked text={content.title ?? content.name ?? content.uri} />
            </button>
            <code>
              <Marked text={content.uri} />
            </code>
            {content.description && (
              <p class="quiet">
                <Marked text={content.description} />
              </p>
            )}
          </div>
        </div>
      );
    case "other":
      return (
        <div class="block-tree">
          <TreeView n={n} at={path} label="Block" isSearchable={false} />
        </div>
      );
  }
}
