// The way from the program's events to the state of the page.

import { batch } from "@preact/signals";
import { ApiError, api } from "../api/client.ts";
import type { InspectorState } from "../api/types.ts";
import { readPlace } from "../pure/place.ts";
import { inspector, link, place, refusal, type Versions, versions } from "./state.ts";

const RETRY_MS = 1000;
const HIDDEN_MS = 5000;

let isLoading = false;
let isStale = false;

/** Logs in with the code of the address, reads the state, and follows its changes. */
export async function start(): Promise<void> {
  const code = location.hash.slice(1);
  if (code !== "") {
    history.replaceState(null, "", location.pathname);
    // A code that was used before is no failure: the cookie of that login may still be good.
    await api.login(code).catch((error: Error) => {
      refusal.value = error.message;
    });
  }
  await load(true);
  if (link.value !== "locked") {
    follow();
    document.addEventListener("visibilitychange", follow);
  }
}

let events: EventSource | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

/**
 * Follows the changes. A browser has few connections to a host, and each stream of events holds one:
 * a hidden page asks now and then instead.
 */
function follow(): void {
  events?.close();
  events = undefined;
  clearTimeout(timer);
  if (link.peek() === "locked") {
    return;
  }
  if (document.visibilityState === "hidden") {
    timer = setTimeout(() => void load(false).then(follow), HIDDEN_MS);
    return;
  }
  const stream = new EventSource("/api/events");
  events = stream;
  stream.addEventListener("open", () => void load(false));
  stream.addEventListener("changed", (event: MessageEvent<string>) => {
    apply(JSON.parse(event.data) as Versions);
  });
  stream.addEventListener("error", () => {
    link.value = "lost";
    if (stream === events && stream.readyState === EventSource.CLOSED) {
      // Unless the page needs a new login.
      timer = setTimeout(() => void load(false).then(follow), RETRY_MS);
    }
  });
}

function apply(next: Versions): void {
  const last = versions.value;
  const merged = { ...last, ...next };
  const changed = Object.keys(next).filter((topic) => next[topic] !== last[topic]);
  versions.value = merged;
  if (changed.some((topic) => topic === "sessions" || topic === "inbox")) {
    void load(false);
  }
}

async function load(isFirst: boolean): Promise<void> {
  if (isLoading) {
    isStale = true;
    return;
  }
  isLoading = true;
  do {
    isStale = false;
    try {
      show(await api.state(), isFirst);
    } catch (error) {
      link.value = error instanceof ApiError && error.status === 401 ? "locked" : "lost";
    }
  } while (isStale);
  isLoading = false;
}

function show(state: InspectorState, isFirst: boolean): void {
  batch(() => {
    inspector.value = state;
    versions.value = state.versions;
    link.value = "live";
    if (isFirst) {
      place.value = readPlace(state.place);
    }
  });
}
