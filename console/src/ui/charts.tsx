import '@mantine/charts/styles.css';
import { Text } from '@mantine/core';
import { type ReactNode } from 'react';
import { stepLabel, timeTicks } from '../lib/series';

/** The common properties of all charts. */

export const LOOK = {
  h: 180,
  dataKey: 'at',
  gridAxis: 'x',
  tickLine: 'none',
} as const;
export const WHOLE = { allowDecimals: false } as const;
export const ACCESSIBLE = { accessibilityLayer: false } as const;
/** Recharts would sort a legend alphabetically. */
export const LEGEND = { itemSorter: null } as const;

/** The top label of an axis is above its line, and would be cut off. */
export const ROOM = { margin: { top: 8 } } as const;

/** The cursor is at the same time in all charts of a page. */
export const SHARED = { syncId: 'time', syncMethod: 'value' } as const;

/**
 * Labels the steps of a chart. Their keys are their times, because the first and the last step of a
 * whole day have the same label, and recharts takes steps of one key for one step.
 */
export function byTime(steps: readonly { at: string }[], stepSeconds: number) {
  const keys = steps.map(({ at }) => at);
  const ticks = timeTicks(keys, stepSeconds);
  const labels = new Map(ticks.map(({ at, label }) => [at, label]));
  // Recharts also asks while the pointer is on no step.
  const label = (at: unknown) =>
    typeof at === 'string' && at !== '' ? stepLabel(at, stepSeconds) : '';
  return {
    xAxisProps: {
      ticks: ticks.map(({ at }) => at),
      interval: 0,
      tickFormatter: (at: string) => labels.get(at) ?? '',
    },
    tooltipProps: { labelFormatter: label },
  } as const;
}

interface FigureProps {
  /** absent: the heading above it names it */
  title?: string;
  says: string;
  /** in place of a chart that has nothing to draw; absent: it has */
  empty?: ReactNode;
  children: ReactNode;
}

/** A chart with its content in words, for people who cannot see it. */
export function Figure({ title, says, empty, children }: FigureProps) {
  return (
    <figure className="card">
      <figcaption>
        {title !== undefined && <span>{title}</span>}
        <Text size="sm" className="quiet" span>
          {says}
        </Text>
      </figcaption>
      {empty === undefined ? children : <div className="no-data">{empty}</div>}
    </figure>
  );
}
