// All commands of the page: their names, their keys, and what they do. The palette and the keyboard
// use this one list.

import { signal } from "@preact/signals";
import { comboOf, showCombo } from "../pure/keys.ts";

export type Command = {
  id: string;
  title: string;
  group: "Go to" | "Server" | "Item" | "View";
  keys?: string;
  /** True if the key works while a text is edited. */
  isGlobal?: boolean;
  run: () => void;
};

const isMac = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.userAgent);

/** Commands by the view that offers them. */
const offers = signal<Record<string, Command[]>>({});

/** Offers the commands of a view, until it takes them back by offering none. */
export function offerCommands(view: string, commands: Command[]): void {
  offers.value = { ...offers.peek(), [view]: commands };
}

/** Returns the commands that can be run now. */
export function allCommands(): Command[] {
  return Object.values(offers.value).flat();
}

/** Returns a key combination as it stands on the keyboard. */
export function keyLabel(combo: string): string {
  return showCombo(combo, isMac);
}

/** Runs the command of a key, and returns true if there is one. */
export function runKey(event: KeyboardEvent): boolean {
  const combo = comboOf(event);
  const isTyping =
    event.target instanceof HTMLInputElement ||
    event.target instanceof HTMLTextAreaElement ||
    event.target instanceof HTMLSelectElement;
  const command = Object.values(offers.peek())
    .flat()
    .find((one) => one.keys === combo && (one.isGlobal === true || !isTyping));
  command?.run();
  return command !== undefined;
}
