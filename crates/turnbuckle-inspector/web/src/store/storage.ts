// Storing the place: shortly after its last change, and when the page goes away.

import { ApiError, api } from "../api/client.ts";
import { writePlace } from "../pure/place.ts";
import { link, place } from "./state.ts";

const STORE_AFTER_MS = 250;
const RETRY_MS = 1000;

let timer: ReturnType<typeof setTimeout> | undefined;

/** Stores the place soon. */
export function storeSoon(): void {
  clearTimeout(timer);
  timer = setTimeout(storeNow, STORE_AFTER_MS);
}

function storeNow(): void {
  clearTimeout(timer);
  timer = undefined;
  api.storePlace(writePlace(place.peek())).then(
    () => {
      if (link.peek() === "lost") {
        link.value = "live";
      }
    },
    (error) => {
      // The page says that the program is away, and stores the place when it is back.
      if (error instanceof ApiError && error.status === 0) {
        link.value = "lost";
        timer ??= setTimeout(storeNow, RETRY_MS);
      }
    },
  );
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
