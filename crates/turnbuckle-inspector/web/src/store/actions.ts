// The actions of a person, and the changes of the state that follow.

import { api } from "../api/client.ts";
import type {
  Answer,
  Consent,
  Fault,
  OpenSource,
  RequestToSend,
  SendOutcome,
  ServerEntry,
} from "../api/types.ts";
import { type Place, type Section, withDraft, withRun } from "../pure/place.ts";
import {
  consentTo,
  firstItems,
  itemKey,
  narrowPage,
  notice,
  overlay,
  place,
  section,
  session,
} from "./state.ts";
import { storeSoon } from "./storage.ts";

/** Changes the place, and has it stored. */
export function changePlace(change: (place: Place) => Partial<Place>): void {
  place.value = { ...place.value, ...change(place.value) };
  storeSoon();
}

/** Runs an action. Its failure is shown, and makes the result undefined. */
export async function attempt<T>(action: () => Promise<T>): Promise<T | undefined> {
  try {
    return await action();
  } catch (error) {
    notice.value = { text: error instanceof Error ? error.message : String(error), tone: "error" };
    return undefined;
  }
}

export function selectSession(id: string): void {
  changePlace(() => ({ session: id }));
}

export function selectSection(next: Section): void {
  changePlace(() => ({ section: next }));
  narrowPage.value = next === "server" || next === "findings" ? "work" : "list";
}

export function selectItem(key: string): void {
  const id = session.peek()?.id;
  if (id !== undefined) {
    openItem(id, section.peek(), key);
  }
}

/** Opens an item of any section. */
export function openItem(id: string, kind: Section, key: string): void {
  changePlace(({ items }) => ({
    session: id,
    section: kind,
    items: { ...items, [`${id}/${kind}`]: key },
  }));
  narrowPage.value = "work";
}

/** Opens the first item of a `session/section`, unless a person opens one. */
export function showFirst(list: string, key: string): void {
  firstItems.value = { ...firstItems.peek(), [list]: key };
}

export function setFilter(key: string, text: string): void {
  changePlace(({ filters }) => ({ filters: { ...filters, [key]: text } }));
}

/** Returns the key of the drafts and requests of the open item. */
export function draftKey(): string | undefined {
  const id = session.value?.id;
  const key = itemKey.value;
  return id === undefined || key === undefined ? undefined : `${id}/${section.value}/${key}`;
}

export function setDraft(key: string, text: string): void {
  changePlace(({ drafts }) => ({ drafts: withDraft(drafts, key, text) }));
}

export async function connect(source: OpenSource): Promise<boolean> {
  const opened = await attempt(() => api.open(source));
  if (opened === undefined) {
    return false;
  }
  overlay.value = undefined;
  selectSession(opened.id);
  return true;
}

/** Connects to a server of the configuration, after the person has agreed to it if that is needed. */
export async function connectTo(server: ServerEntry): Promise<void> {
  if (server.consent !== null) {
    consentTo.value = server;
    overlay.value = "consent";
  } else {
    await connect(server.source);
  }
}

/** Agrees to a server of the configuration, and connects to it. */
export async function agree(server: ServerEntry, { digest }: Consent): Promise<void> {
  const isAgreed = await attempt(async () => {
    await api.agree(server.name, digest);
    return true;
  });
  if (isAgreed) {
    await connect(server.source);
  }
}

export async function restart(id: string): Promise<void> {
  await attempt(() => api.session(id, "restart"));
}

export async function close(id: string): Promise<void> {
  await attempt(() => api.session(id, "close"));
}

export type Sent = { n: number } | { faults: Fault[]; canSendAnyway: boolean } | undefined;

/** Sends a request of an item, and keeps its number beside the item. */
export async function sendRequest(id: string, key: string, request: RequestToSend): Promise<Sent> {
  const { timeoutMs } = place.peek();
  const timed = timeoutMs === undefined ? request : { ...request, timeoutMs };
  const outcome = await attempt<SendOutcome>(() => api.request(id, timed));
  if (outcome?.outcome === "sent") {
    changePlace(({ runs }) => ({ runs: { ...runs, [key]: withRun(runs[key], outcome.n) } }));
    return { n: outcome.n };
  }
  return outcome;
}

export async function cancelRequest(id: string, n: number): Promise<void> {
  await attempt(() => api.cancel(id, n));
}

export async function setSubscribed(id: string, uri: string, isWanted: boolean): Promise<void> {
  await attempt<unknown>(() => (isWanted ? api.subscribe(id, uri) : api.unsubscribe(id, uri)));
}

/** Answers a question, and returns the faults of the content if it is not sent for them. */
export async function answerQuestion(id: string, answer: Answer): Promise<Fault[]> {
  const outcome = await attempt(() => api.answer(id, answer));
  if (outcome?.outcome === "gone") {
    notice.value = { text: "The question does not wait for an answer any more.", tone: "info" };
  }
  return outcome?.outcome === "refused" ? outcome.faults : [];
}

/** Shows an entry of the timeline in the wire drawer. */
export function showEntry(n: number): void {
  changePlace(({ wire }) => ({ wire: { ...wire, isOpen: true, entry: n, isLinked: true } }));
  narrowPage.value = "wire";
}

/** Shows a response in the wire drawer, unless the person closed its entry before. */
export function linkEntry(n: number): void {
  const { wire } = place.peek();
  if (wire.isLinked && wire.entry !== n) {
    changePlace(() => ({ wire: { ...wire, entry: n } }));
  }
}

/** Closes the entry of the wire drawer, and leaves it closed. */
export function closeEntry(): void {
  changePlace(({ wire }) => ({ wire: { ...wire, entry: undefined, isLinked: false } }));
}

export function toggleWire(): void {
  changePlace(({ wire }) => ({ wire: { ...wire, isOpen: !wire.isOpen } }));
}

/** Copies a text, and says so. */
export async function copyText(load: () => Promise<string>, what: string): Promise<void> {
  await attempt(async () => {
    await navigator.clipboard.writeText(await load());
    notice.value = { text: `Copied ${what}`, tone: "info" };
  });
}

/** Opens the wire drawer with a filter. */
export function setWireFilter(filter: string): void {
  changePlace(({ wire }) => ({ wire: { ...wire, isOpen: true, filter } }));
  narrowPage.value = "wire";
}
