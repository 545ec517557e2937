// The sections of a server: their names, icons and keys.

import type { ListSummary, Session } from "../api/types.ts";
import type { IconName } from "../parts/icon.tsx";
import type { Section } from "../pure/place.ts";

export type SectionFacts = { id: Section; title: string; one: string; icon: IconName; key: string };

export const SECTIONS: readonly SectionFacts[] = [
  { id: "tools", title: "Tools", one: "tool", icon: "tools", key: "1" },
  { id: "resources", title: "Resources", one: "resource", icon: "resources", key: "2" },
  { id: "templates", title: "Templates", one: "template", icon: "templates", key: "3" },
  { id: "prompts", title: "Prompts", one: "prompt", icon: "prompts", key: "4" },
  { id: "skills", title: "Skills", one: "skill", icon: "skills", key: "5" },
  { id: "tasks", title: "Tasks", one: "task", icon: "tasks", key: "6" },
  { id: "server", title: "Server", one: "server", icon: "server", key: "7" },
  { id: "findings", title: "Findings", one: "finding", icon: "findings", key: "8" },
  { id: "inbox", title: "Inbox", one: "question", icon: "inbox", key: "9" },
];

/** Returns the facts of a section. */
export function sectionFacts(id: Section): SectionFacts {
  return SECTIONS.find((section) => section.id === id) ?? (SECTIONS[0] as SectionFacts);
}

/** Returns the summary of a list, if the server has it. */
export function summaryOf(session: Session | undefined, id: Section): ListSummary | undefined {
  return session?.lists.find((list) => list.kind === id);
}
