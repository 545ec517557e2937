// The title of the document: the open questions and the server.

import { effect } from "@preact/signals";
import { markHidden } from "../pure/marks.ts";
import { nameOf, openQuestions, session } from "./state.ts";

const MAX_NAME = 60;

/** Keeps the title of the document up to date. */
export function followTitle(): void {
  effect(() => {
    const waiting = openQuestions.value.length;
    const pieces = markHidden(session.value ? nameOf(session.value) : "");
    const name = pieces.map(({ text, mark }) => (mark ? "" : text)).join("");
    const parts = [name.slice(0, MAX_NAME), "turnbuckle inspect"].filter((part) => part !== "");
    document.title = (waiting > 0 ? `(${waiting}) ` : "") + parts.join(" · ");
  });
}
