import type { ComponentChildren } from "preact";

type Props = { url: string; class?: string; children: ComponentChildren };

/** A link to an address that a server named. Only addresses of the web can be opened. */
export function WebLink({ url, class: name = "", children }: Props) {
  if (!/^https?:\/\//i.test(url)) {
    return (
      <span>
        {children} <span class="quiet">(not opened: its address is not one of the web)</span>
      </span>
    );
  }
  return (
    <a class={name} href={url} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}
