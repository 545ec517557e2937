// Names of key combinations.

type Pressed = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">;

/** Returns the name of a combination, such as `Mod+K`: Mod is Ctrl, or Command on a Mac. */
export function comboOf(event: Pressed): string {
  const key = event.key.length === 1 ? event.key.toUpperCase() : event.key;
  const shift = event.shiftKey && (event.key.length > 1 || /[a-z]/i.test(event.key));
  const parts = [
    event.ctrlKey || event.metaKey ? "Mod" : "",
    event.altKey ? "Alt" : "",
    shift ? "Shift" : "",
    key === " " ? "Space" : key,
  ];
  return parts.filter((part) => part !== "").join("+");
}

/** Returns true for a key that is pressed together with Ctrl, Command or Alt. */
export function isCombined({ ctrlKey, metaKey, altKey }: Pressed): boolean {
  return ctrlKey || metaKey || altKey;
}

/** Returns a combination as it stands on the keyboard. */
export function showCombo(combo: string, isMac: boolean): string {
  const names: Record<string, string> = {
    Mod: isMac ? "⌘" : "Ctrl",
    Alt: isMac ? "⌥" : "Alt",
    Shift: isMac ? "⇧" : "Shift",
    Enter: "↵",
    Escape: "Esc",
    ArrowUp: "↑",
    ArrowDown: "↓",
  };
  const parts = combo.split("+").map((part) => names[part] ?? part);
  return parts.join(isMac ? "" : "+");
}
