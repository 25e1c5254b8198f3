import { useState } from 'react';
import { ReferenceArea } from 'recharts';

/** Selects steps of a chart by the mouse: a click picks one, dragging over several zooms in. */

interface Zoom {
  /** properties of the chart of recharts */
  chartProps: {
    onMouseDown: (at: Hovered) => void;
    onMouseMove: (at: Hovered) => void;
    onMouseUp: (at: Hovered) => void;
    onMouseLeave: () => void;
    style: { cursor: string; userSelect: 'none' };
    throttledEvents: never[];
  };
  /** the marked steps while the mouse drags */
  area: React.ReactNode;
}

interface Hovered {
  activeLabel?: string | number | undefined;
  activeTooltipIndex?: number | string | null | undefined;
}

interface Steps {
  /** the values of the steps on the axis of time, in order; no two are the same */
  keys: readonly string[];
  /** the user clicked a step */
  onPick?: ((index: number) => void) | undefined;
  /** the user dragged from a step to a later one; both belong to the selection */
  onZoom: (from: number, to: number) => void;
}

export function useZoom({ keys, onPick, onZoom }: Steps): Zoom {
  const [drag, setDrag] = useState<{ from: number; to: number }>();
  const indexOf = ({ activeTooltipIndex }: Hovered) => {
    const index = Number(activeTooltipIndex ?? NaN);
    return Number.isInteger(index) && index >= 0 && index < keys.length ? index : undefined;
  };
  const [first, last] = drag
    ? [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)]
    : [0, 0];
  return {
    chartProps: {
      onMouseDown: (at) => {
        const index = indexOf(at);
        if (index !== undefined) setDrag({ from: index, to: index });
      },
      onMouseMove: (at) => {
        const index = indexOf(at);
        if (drag && index !== undefined && index !== drag.to) setDrag({ ...drag, to: index });
      },
      onMouseUp: () => {
        if (!drag) return;
        setDrag(undefined);
        if (first === last) onPick?.(first);
        else onZoom(first, last);
      },
      onMouseLeave: () => setDrag(undefined),
      style: { cursor: onPick ? 'pointer' : 'crosshair', userSelect: 'none' },
      // Recharts would note a move one frame later. A tap presses before that, and would find no
      // step.
      throttledEvents: [],
    },
    area:
      drag && first !== last ? (
        <ReferenceArea x1={keys[first] ?? ''} x2={keys[last] ?? ''} className="zoom-area" />
      ) : undefined,
  };
}
