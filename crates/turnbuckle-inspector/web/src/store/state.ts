// The state of the page. `actions.ts` and `events.ts` change it; views read it.

import { computed, signal } from "@preact/signals";
import type { InspectorState, ItemKind, Question, ServerEntry, Session } from "../api/types.ts";
import type { Place, Section } from "../pure/place.ts";
import { emptyPlace } from "../pure/place.ts";

/** The connection to the program: `locked` wants the code of the address, `lost` tries again. */
export type Link = "starting" | "live" | "lost" | "locked";

export const link = signal<Link>("starting");

/** The reason why the code of the address was refused. */
export const refusal = signal<string | undefined>(undefined);

export const inspector = signal<InspectorState | undefined>(undefined);
export const place = signal<Place>(emptyPlace());

/** The last failure of an action, shown until it is dismissed. */
export const notice = signal<{ text: string; tone: "error" | "info" } | undefined>(undefined);

export const overlay = signal<"palette" | "connect" | "consent" | "keys" | "request" | undefined>(
  undefined,
);

/** The server that the person is asked to agree to. */
export const consentTo = signal<ServerEntry | undefined>(undefined);

export type NarrowPage = "rail" | "list" | "work" | "result" | "wire";

/** The page that a narrow window shows. */
export const narrowPage = signal<NarrowPage>("rail");

export type Versions = Record<string, number>;
export const versions = signal<Versions>({});

export const sessions = computed<Session[]>(() => inspector.value?.sessions ?? []);

export const session = computed<Session | undefined>(() => {
  const id = place.value.session;
  return sessions.value.find((one) => one.id === id) ?? sessions.value[0];
});

/** Returns the name of a server: that of the configuration, or the one that the server gives itself. */
export function nameOf({ source, server, name }: Session): string {
  return source.source === "named" ? name : (server?.title ?? server?.name ?? name);
}

/** Returns the name of the server of a session. */
export function sessionName(id: string): string {
  const found = sessions.value.find((one) => one.id === id);
  return found ? nameOf(found) : id;
}

export const section = computed<Section>(() => place.value.section);

/** The first item of each `session/section`: the one that is open until another is chosen. */
export const firstItems = signal<Record<string, string>>({});

export const itemKey = computed<string | undefined>(() => {
  const id = session.value?.id;
  const list = `${id}/${section.value}`;
  return id === undefined ? undefined : (place.value.items[list] ?? firstItems.value[list]);
});

export const openQuestions = computed<Question[]>(
  () => inspector.value?.inbox.filter((question) => question.state === "open") ?? [],
);

/** Returns the version of a topic, so that a view follows its changes. */
export function versionOf(topic: string): number {
  return versions.value[topic] ?? 0;
}

/** Returns true for the sections that are lists of a server. */
export function isItemKind(value: Section): value is ItemKind {
  return value !== "server" && value !== "inbox" && value !== "findings";
}
