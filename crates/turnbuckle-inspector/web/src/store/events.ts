// The way from the program's events to the state of the page.

import { batch } from "@preact/signals";
import { ApiError, api } from "../api/client.ts";
import type { InspectorState } from "../api/types.ts";
import { readPlace } from "../pure/place.ts";
import { inspector, link, place, type Versions, versions } from "./state.ts";

const RETRY_MS = 1000;

let isLoading = false;
let isStale = false;

/** Logs in with the code of the address, reads the state, and follows its changes. */
export async function start(): Promise<void> {
  const code = location.hash.slice(1);
  if (code !== "") {
    history.replaceState(null, "", location.pathname);
    // A code that was used before is no failure: the cookie of that login may still be good.
    await api.login(code).catch(() => undefined);
  }
  await load(true);
  if (link.value !== "locked") {
    follow();
  }
}

function follow(): void {
  const events = new EventSource("/api/events");
  events.addEventListener("open", () => void load(false));
  events.addEventListener("changed", (event: MessageEvent<string>) => {
    apply(JSON.parse(event.data) as Versions);
  });
  events.addEventListener("error", () => {
    link.value = "lost";
    if (events.readyState === EventSource.CLOSED) {
      setTimeout(() => void reopen(), RETRY_MS);
    }
  });
}

/** Follows the changes again, unless the page needs a new login. */
async function reopen(): Promise<void> {
  await load(false);
  if (link.peek() !== "locked") {
    follow();
  }
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
