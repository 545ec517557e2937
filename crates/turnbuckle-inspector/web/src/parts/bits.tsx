// Small parts that many views use.

import type { ComponentChildren } from "preact";
import type { Hint } from "../api/types.ts";
import { Icon, type IconName } from "./icon.tsx";

type ButtonProps = {
  icon?: IconName;
  label: string;
  /** True to show the icon alone; the label is its name. */
  isBare?: boolean;
  kind?: "primary" | "danger" | "plain";
  keys?: string;
  isPressed?: boolean;
  isDisabled?: boolean;
  onClick: () => void;
};

export function Button(props: ButtonProps) {
  const { icon, label, isBare = false, kind = "plain", keys, isPressed, isDisabled } = props;
  return (
    <button
      type="button"
      class={`button button-${kind} ${isBare ? "button-bare" : ""}`}
      aria-label={isBare ? label : undefined}
      aria-pressed={isPressed}
      disabled={isDisabled}
      title={keys ? `${label} (${keys})` : isBare ? label : undefined}
      onClick={props.onClick}
    >
      {icon && <Icon name={icon} />}
      {!isBare && <span>{label}</span>}
      {keys && !isBare && <kbd>{keys}</kbd>}
    </button>
  );
}

/** The state of a pane that has nothing to show, with what to do next. */
export function Empty(props: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon name={props.icon} />
      <p class="empty-title">{props.title}</p>
      {props.children && <div class="empty-more">{props.children}</div>}
    </div>
  );
}

/** Grey bars in the place of rows that are loaded. */
export function Skeleton({ rows }: { rows: number }) {
  const widths = [62, 44, 71, 53, 38, 66, 49, 58];
  return (
    <div class="skeleton" aria-hidden="true">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} style={{ width: `${widths[row % widths.length]}%` }} />
      ))}
    </div>
  );
}

export function Failure({ text, children }: { text: string; children?: ComponentChildren }) {
  return (
    <div class="failure" role="alert">
      <Icon name="alert" />
      <div>
        <p>{text}</p>
        {children}
      </div>
    </div>
  );
}

type TabsProps<T extends string> = {
  label: string;
  tabs: readonly { id: T; title: string; note?: string | undefined }[];
  current: T;
  onSelect: (id: T) => void;
};

export function Tabs<T extends string>({ label, tabs, current, onSelect }: TabsProps<T>) {
  const step = (event: KeyboardEvent, by: number) => {
    const index = tabs.findIndex((tab) => tab.id === current);
    const next = tabs[(index + by + tabs.length) % tabs.length];
    if (next) {
      event.preventDefault();
      onSelect(next.id);
      const list = (event.currentTarget as HTMLElement).parentElement;
      list?.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus();
    }
  };
  return (
    <div class="tabs" role="tablist" aria-label={label}>
      {tabs.map((tab) => (
        <button
          key={tab.id}
          type="button"
          role="tab"
          data-tab={tab.id}
          aria-selected={tab.id === current}
          tabIndex={tab.id === current ? 0 : -1}
          onClick={() => onSelect(tab.id)}
          onKeyDown={(event) => {
            if (event.key === "ArrowRight") {
              step(event, 1);
            } else if (event.key === "ArrowLeft") {
              step(event, -1);
            }
          }}
        >
          {tab.title}
          {tab.note && <span class="count">{tab.note}</span>}
        </button>
      ))}
    </div>
  );
}

const HINTS: Record<Hint, { label: string; tone: string; title: string }> = {
  readOnly: { label: "read-only", tone: "quiet", title: "The server says: a call changes nothing" },
  destructive: {
    label: "may destroy",
    tone: "quiet",
    title: "The server does not say that a call is safe: it may delete or overwrite something",
  },
  saysDestructive: {
    label: "destructive",
    tone: "error",
    title: "The server says: a call may delete or overwrite something",
  },
  idempotent: {
    label: "idempotent",
    tone: "quiet",
    title: "The server says: a repeated call changes nothing more",
  },
  openWorld: {
    label: "open world",
    tone: "quiet",
    title: "The server says: the tool reaches others than the server",
  },
  taskOptional: { label: "task", tone: "quiet", title: "A call may become a task" },
  taskRequired: { label: "always a task", tone: "quiet", title: "A call always becomes a task" },
  working: { label: "working", tone: "info", title: "The task is at work" },
  inputRequired: {
    label: "input required",
    tone: "warning",
    title: "The task waits for an answer",
  },
  completed: { label: "completed", tone: "ok", title: "The task is completed" },
  failed: { label: "failed", tone: "error", title: "The task failed" },
  cancelled: { label: "cancelled", tone: "quiet", title: "The task was cancelled" },
};

/** Returns the hints to show: what the server says replaces what follows from its silence. */
export function shownHints(hints: readonly Hint[], isShort: boolean): Hint[] {
  const quiet: readonly Hint[] = isShort ? ["destructive", "idempotent", "openWorld"] : [];
  const says = hints.includes("saysDestructive");
  return hints.filter((hint) => !quiet.includes(hint) && !(says && hint === "destructive"));
}

export function HintTag({ hint }: { hint: Hint }) {
  const { label, tone, title } = HINTS[hint];
  return (
    <span class={`tag tag-${tone}`} title={title}>
      {label}
    </span>
  );
}
