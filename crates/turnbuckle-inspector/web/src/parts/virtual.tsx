import type { ComponentChildren, HTMLAttributes } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { scrollToRow, visibleRows } from "../pure/scroll.ts";

type Attributes = Omit<HTMLAttributes<HTMLDivElement>, "children" | "ref">;

type Props = {
  total: number;
  rowHeight: number;
  render: (index: number) => ComponentChildren;
  onShow: (from: number, to: number) => void;
  /** The row to keep in view when it changes. */
  current?: number | undefined;
  /** True to stay at the end while rows are added. */
  isFollowing?: boolean;
  onFollow?: (isAtEnd: boolean) => void;
  attributes?: Attributes;
  header?: ComponentChildren;
};

/** A list of rows of one height that renders those in view alone. */
export function VirtualList(props: Props) {
  const { total, rowHeight, render, onShow, current, isFollowing, onFollow, header } = props;
  const box = useRef<HTMLDivElement>(null);
  const [scrollTop, setScrollTop] = useState(0);
  const [viewport, setViewport] = useState(400);
  const view = { scrollTop, viewport, rowHeight, total };
  const rows = visibleRows(view);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) {
      return;
    }
    const observer = new ResizeObserver(() => setViewport(element.clientHeight));
    observer.observe(element);
    setViewport(element.clientHeight);
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(() => onShow(rows.from, rows.to), [rows.from, rows.to, onShow]);

  useLayoutEffect(() => {
    if (box.current && current !== undefined && current >= 0) {
      const usable = { ...view, viewport: viewport - (header ? rowHeight : 0) };
      box.current.scrollTop = scrollToRow({ ...usable, scrollTop: box.current.scrollTop }, current);
    }
  }, [current]);

  useLayoutEffect(() => {
    if (box.current && isFollowing) {
      box.current.scrollTop = box.current.scrollHeight;
    }
  }, [total, isFollowing, viewport]);

  const shown: ComponentChildren[] = [];
  for (let index = rows.from; index < rows.to; index += 1) {
    shown.push(render(index));
  }
  return (
    <div
      tabIndex={0}
      {...props.attributes}
      ref={box}
      class={`virtual ${props.attributes?.class ?? ""}`}
      onScroll={(event) => {
        const element = event.currentTarget;
        setScrollTop(element.scrollTop);
        onFollow?.(
          element.scrollTop + element.clientHeight >= element.scrollHeight - rowHeight / 2,
        );
      }}
    >
      {header}
      <div class="virtual-space" role="presentation" style={{ height: `${rows.height}px` }}>
        <div
          class="virtual-rows"
          role="presentation"
          style={{ transform: `translateY(${rows.offset}px)` }}
        >
          {shown}
        </div>
      </div>
    </div>
  );
}
