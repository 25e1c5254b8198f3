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
  };
  /** the marked steps while the mouse drags */
  area: React.ReactNode;
}

interface Hovered {
  activeLabel?: string | number | undefined;
  activeTooltipIndex?: number | string | null | undefined;
}

interface Steps {
  /** the labels of the steps, in order */
  labels: readonly string[];
  /** the user clicked a step */
  onPick: (index: number) => void;
  /** the user dragged from a step to a later one; both belong to the selection */
  onZoom: (from: number, to: number) => void;
}

export function useZoom({ labels, onPick, onZoom }: Steps): Zoom {
  const [drag, setDrag] = useState<{ from: number; to: number }>();
  const indexOf = ({ activeTooltipIndex }: Hovered) => {
    const index = Number(activeTooltipIndex ?? NaN);
    return Number.isInteger(index) && index >= 0 && index < labels.length ? index : undefined;
  };
  const [first, last] = drag ? [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)] : [0, 0];
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
        if (first === last) onPick(first);
        else onZoom(first, last);
      },
      onMouseLeave: () => setDrag(undefined),
      style: { cursor: 'pointer', userSelect: 'none' },
    },
    area:
      drag && first !== last ? (
        <ReferenceArea x1={labels[first] ?? ''} x2={labels[last] ?? ''} className="zoom-area" />
      ) : undefined,
  };
}
