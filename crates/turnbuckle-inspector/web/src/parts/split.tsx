import { useRef } from "preact/hooks";

type Props = {
  /** The direction in which the handle moves. */
  axis: "x" | "y";
  label: string;
  value: number;
  min: number;
  max: number;
  /** Pixels of one step of an arrow key, or a part for shares. */
  step: number;
  /** Returns the new size for a pointer at a position. */
  measure: (event: PointerEvent, handle: HTMLElement) => number;
  /** True if the pane that the handle sizes lies after it. */
  isAfter?: boolean;
  onChange: (value: number) => void;
};

/** The handle between two panes: dragged, or moved with the arrow keys. */
export function Split(props: Props) {
  const { axis, label, value, min, max, step, measure, isAfter = false, onChange } = props;
  const isDragging = useRef(false);
  const set = (next: number) => onChange(Math.max(min, Math.min(max, next)));
  const [less, more] = axis === "x" ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
  return (
    <div
      class={`split split-${axis}`}
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation={axis === "x" ? "vertical" : "horizontal"}
      aria-valuenow={Math.round(max <= 1 ? value * 100 : value)}
      aria-valuemin={Math.round(max <= 1 ? min * 100 : min)}
      aria-valuemax={Math.round(max <= 1 ? max * 100 : max)}
      onPointerDown={(event) => {
        isDragging.current = true;
        event.currentTarget.setPointerCapture(event.pointerId);
        event.preventDefault();
      }}
      onPointerMove={(event) => {
        if (isDragging.current) {
          set(measure(event, event.currentTarget));
        }
      }}
      onPointerUp={() => {
        isDragging.current = false;
      }}
      onKeyDown={(event) => {
        const direction = event.key === less ? -1 : event.key === more ? 1 : 0;
        if (direction !== 0) {
          event.preventDefault();
          set(value + direction * step * (isAfter ? -1 : 1));
        }
      }}
    />
  );
}
