import { Button } from "../../parts/bits.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { allCommands, type Command, keyLabel } from "../../store/commands.ts";
import { overlay } from "../../store/state.ts";

const GROUPS: readonly Command["group"][] = ["Go to", "Server", "Item", "View"];

const FIXED = [
  { keys: "↑ ↓ or J K", title: "Move in a list" },
  { keys: "↵", title: "Open an item, or a value of a tree" },
  { keys: "← →", title: "Close or open a value of a tree" },
  { keys: "Ctrl+C", title: "Copy a value of a tree as it was sent" },
  { keys: "Esc", title: "Close what is open" },
];

/** The keys of all commands. */
export function Keys() {
  const close = () => {
    overlay.value = undefined;
  };
  return (
    <Dialog label="Keys" class="keys" onClose={close}>
      <div class="pane-head">
        <h2>Keys</h2>
        <span class="space" />
        <Button icon="close" label="Close" isBare keys="Esc" onClick={close} />
      </div>
      <div class="keys-body" tabIndex={0} role="region" aria-label="All keys">
        {GROUPS.map((group) => (
          <KeyGroup
            key={group}
            title={group}
            rows={allCommands().flatMap(({ group: own, keys, title }) =>
              own === group && keys !== undefined ? [{ keys: keyLabel(keys), title }] : [],
            )}
          />
        ))}
        <KeyGroup title="Lists and trees" rows={FIXED} />
      </div>
    </Dialog>
  );
}

function KeyGroup({ title, rows }: { title: string; rows: { keys: string; title: string }[] }) {
  if (rows.length === 0) {
    return null;
  }
  return (
    <section>
      <h3>{title}</h3>
      <dl>
        {rows.map((row) => (
          <div key={row.title}>
            <dt>
              <kbd>{row.keys}</kbd>
            </dt>
            <dd>{row.title}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
