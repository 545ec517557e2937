// The commands that can be run everywhere, and the keyboard.

import { effect } from "@preact/signals";
import { restart, selectSection, selectSession, toggleWire } from "../store/actions.ts";
import { type Command, offerCommands, runKey } from "../store/commands.ts";
import { nameOf, narrowPage, notice, overlay, session, sessions } from "../store/state.ts";
import { nextTheme } from "./rail/theme.tsx";
import { SECTIONS } from "./sections.ts";

const PANES = ["rail", "list", "work", "wire"];

/** Offers the commands, and listens to the keyboard. */
export function startCommands(): void {
  effect(() => offerCommands("page", pageCommands()));
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || (overlay.value !== undefined && event.key !== "Escape")) {
      return;
    }
    if (event.key === "Escape") {
      leave();
    } else if (runKey(event)) {
      event.preventDefault();
    }
  });
}

function leave(): void {
  if (overlay.value !== undefined) {
    overlay.value = undefined;
  } else if (notice.value !== undefined) {
    notice.value = undefined;
  } else if (document.activeElement instanceof HTMLElement) {
    document.activeElement.blur();
  }
}

function pageCommands(): Command[] {
  const current = session.value;
  const sections = SECTIONS.map(({ id, title, key }) => ({
    id,
    title,
    group: "Go to" as const,
    keys: key,
    run: () => selectSection(id),
  }));
  const all = sessions.value;
  const step = (by: number) => () => {
    const at = all.findIndex((one) => one.id === current?.id);
    const next = all[(at + by + all.length) % all.length];
    if (next) {
      selectSession(next.id);
    }
  };
  const others = all
    .filter((one) => one.id !== current?.id)
    .map((one) => ({
      id: `session-${one.id}`,
      title: `Server ${nameOf(one)}`,
      group: "Go to" as const,
      run: () => selectSession(one.id),
    }));
  const server: Command[] = [
    { id: "next", title: "Next server", group: "Server", keys: "Alt+ArrowDown", run: step(1) },
    { id: "last", title: "Last server", group: "Server", keys: "Alt+ArrowUp", run: step(-1) },
    { id: "connect", title: "Connect", group: "Server", keys: "C", run: () => open("connect") },
  ];
  if (current) {
    server.push({
      id: "request",
      title: "Send a request",
      group: "Server",
      keys: "S",
      run: () => open("request"),
    });
    server.push({
      id: "restart",
      title: `Restart ${nameOf(current)}`,
      group: "Server",
      keys: "R",
      run: () => void restart(current.id),
    });
  }
  return [...sections, ...others, ...server, ...VIEW];
}

function open(which: "palette" | "connect" | "keys" | "request"): void {
  overlay.value = which;
}

const VIEW: Command[] = [
  {
    id: "palette",
    title: "Commands",
    group: "View",
    keys: "Mod+K",
    isGlobal: true,
    run: () => open("palette"),
  },
  {
    id: "filter",
    title: "Filter the list",
    group: "View",
    keys: "/",
    run: () => focus("list", "[data-filter]"),
  },
  { id: "wire", title: "Show or hide the wire", group: "View", keys: "W", run: toggleWire },
  {
    id: "wire-filter",
    title: "Filter the wire",
    group: "View",
    keys: "F",
    run: () => focus("wire", "[data-wire-filter]"),
  },
  { id: "theme", title: "Change the theme", group: "View", keys: "T", run: nextTheme },
  { id: "keys", title: "Keys", group: "View", keys: "?", run: () => open("keys") },
  {
    id: "next-pane",
    title: "Next pane",
    group: "View",
    keys: "F6",
    isGlobal: true,
    run: () => movePane(1),
  },
  {
    id: "last-pane",
    title: "Last pane",
    group: "View",
    keys: "Shift+F6",
    isGlobal: true,
    run: () => movePane(-1),
  },
];

function focus(page: "list" | "wire", selector: string): void {
  narrowPage.value = page;
  const take = () => {
    const input = document.querySelector<HTMLInputElement>(selector);
    input?.focus();
    input?.select();
    return input !== null && document.activeElement === input;
  };
  // At once, so that the next key is typed into it; later if its pane must be shown first.
  if (!take()) {
    requestAnimationFrame(take);
  }
}

/** Moves the focus to the first element of the next pane. */
function movePane(by: number): void {
  const panes = PANES.flatMap((name) => {
    const pane = document.querySelector<HTMLElement>(`[data-pane="${name}"]`);
    return pane && pane.offsetParent !== null ? [pane] : [];
  });
  const at = panes.findIndex((pane) => pane.contains(document.activeElement));
  const next = panes[(at + by + panes.length) % panes.length];
  const focusable = 'button:not(:disabled), input, select, textarea, [tabindex="0"]';
  next?.querySelector<HTMLElement>(`.virtual[tabindex="0"], ${focusable}`)?.focus();
}
