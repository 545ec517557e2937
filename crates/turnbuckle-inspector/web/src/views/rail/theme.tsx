import { effect } from "@preact/signals";
import type { IconName } from "../../parts/icon.tsx";
import { Icon } from "../../parts/icon.tsx";
import type { Theme } from "../../pure/place.ts";
import { changePlace } from "../../store/actions.ts";
import { place } from "../../store/state.ts";

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const ICONS: Record<Theme, IconName> = { system: "system", light: "sun", dark: "moon" };

/** Goes to the next theme: that of the system, light, dark. */
export function nextTheme(): void {
  changePlace(({ theme }) => ({ theme: NEXT[theme] }));
}

/** Keeps the theme of the document equal to the chosen one. */
export function applyTheme(): void {
  effect(() => {
    document.documentElement.dataset.theme = place.value.theme;
  });
}

export function ThemeSwitch() {
  const { theme } = place.value;
  return (
    <button
      type="button"
      class="button button-plain button-bare"
      aria-label={`Theme: ${theme}`}
      title={`Theme: ${theme} (T)`}
      onClick={nextTheme}
    >
      <Icon name={ICONS[theme]} />
    </button>
  );
}
