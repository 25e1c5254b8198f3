import { Text } from '@mantine/core';
import { type ReactNode } from 'react';

/** The common properties of all charts. */

export const LOOK = {
  h: 220,
  withLegend: true,
  dataKey: 'at',
  gridAxis: 'x',
  tickLine: 'none',
} as const;
export const WHOLE = { allowDecimals: false } as const;
export const ACCESSIBLE = { accessibilityLayer: false } as const;
/** Recharts would sort a legend alphabetically. */
export const LEGEND = { itemSorter: null } as const;

/** A chart with its content in words, for people who cannot see it. */
export function Figure({
  title,
  says,
  children,
}: {
  title: string;
  says: string;
  children: ReactNode;
}) {
  return (
    <figure className="card">
      <figcaption>
        <span>{title}</span>
        <Text size="sm" className="quiet">
          {says}
        </Text>
      </figcaption>
      {children}
    </figure>
  );
}
