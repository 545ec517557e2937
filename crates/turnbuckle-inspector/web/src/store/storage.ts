// Storing the place: shortly after its last change, and when the page goes away.

import { api } from "../api/client.ts";
import { writePlace } from "../pure/place.ts";
import { link, place } from "./state.ts";

const STORE_AFTER_MS = 250;

let timer: ReturnType<typeof setTimeout> | undefined;

/** Stores the place soon. */
export function storeSoon(): void {
  clearTimeout(timer);
  timer = setTimeout(storeNow, STORE_AFTER_MS);
}

function storeNow(): void {
  clearTimeout(timer);
  timer = undefined;
  // A failure needs no message of its own: the page says already that the program is gone.
  api.storePlace(writePlace(place.peek())).catch(() => {
    link.value = "lost";
  });
}

/** Stores what is not yet stored when the page is left. */
export function storeOnLeave(): void {
  addEventListener("pagehide", () => {
    if (timer !== undefined) {
      const body = new Blob([writePlace(place.peek())], { type: "application/json" });
      void fetch("/api/place", { method: "PUT", body, keepalive: true });
    }
  });
}
