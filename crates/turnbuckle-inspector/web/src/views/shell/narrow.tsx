import { Icon, type IconName } from "../../parts/icon.tsx";
import { changePlace } from "../../store/actions.ts";
import { type NarrowPage, narrowPage, openQuestions } from "../../store/state.ts";

const PAGES: readonly { id: NarrowPage; title: string; icon: IconName }[] = [
  { id: "rail", title: "Servers", icon: "server" },
  { id: "list", title: "List", icon: "tasks" },
  { id: "work", title: "Item", icon: "tools" },
  { id: "result", title: "Result", icon: "play" },
  { id: "wire", title: "Wire", icon: "wire" },
];

/** The bar of a narrow window, which shows one pane at a time. */
export function NarrowBar() {
  return (
    <nav class="narrow-bar" aria-label="Panes">
      {PAGES.map(({ id, title, icon }) => (
        <button
          key={id}
          type="button"
          aria-current={narrowPage.value === id ? "page" : undefined}
          onClick={() => {
            narrowPage.value = id;
            if (id === "wire") {
              changePlace(({ wire }) => ({ wire: { ...wire, isOpen: true } }));
            }
          }}
        >
          <Icon name={icon} />
          <span>{title}</span>
          {id === "rail" && openQuestions.value.length > 0 && (
            <span class="badge">{openQuestions.value.length}</span>
          )}
        </button>
      ))}
    </nav>
  );
}
