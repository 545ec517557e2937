// The rows of a long list that are in view. All rows have one height.

export type View = { scrollTop: number; viewport: number; rowHeight: number; total: number };
export type Visible = { from: number; to: number; offset: number; height: number };

/** The height that browsers lay out without loss. A longer list is scrolled in proportion. */
export const MAX_HEIGHT = 8_000_000;

const OVERSCAN = 6;

/** Returns the rows to render, the offset of the first one, and the height of the whole list. */
export function visibleRows({ scrollTop, viewport, rowHeight, total }: View): Visible {
  const full = total * rowHeight;
  const height = Math.min(full, MAX_HEIGHT);
  const top = Math.max(0, Math.min(scrollTop, height - viewport));
  const scale = height > viewport ? (full - viewport) / (height - viewport) : 1;
  const first = (top * scale) / rowHeight;
  const from = Math.max(0, Math.floor(first) - OVERSCAN);
  const to = Math.min(total, Math.ceil(first + viewport / rowHeight) + OVERSCAN);
  return { from, to, offset: top - (first - from) * rowHeight, height };
}

/** Returns the scroll position that has a row in view, moving as little as possible. */
export function scrollToRow(view: View, row: number): number {
  const { scrollTop, viewport, rowHeight, total } = view;
  const full = total * rowHeight;
  const height = Math.min(full, MAX_HEIGHT);
  const scale = height > viewport ? (full - viewport) / (height - viewport) : 1;
  const top = scrollTop * scale;
  if (row * rowHeight < top) {
    return (row * rowHeight) / scale;
  }
  if ((row + 1) * rowHeight > top + viewport) {
    return ((row + 1) * rowHeight - viewport) / scale;
  }
  return scrollTop;
}
