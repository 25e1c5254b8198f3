import { NativeSelect, Text } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { useRead } from '../lib/api';
import { sinceOf } from '../lib/series';
import { count } from '../lib/labels';
import { type Filters, Pager } from '../ui/filters';
import { Section, Table, Unread, Waiting, When } from '../ui/ui';

/** The history of an audience or computed trait: its size over time, and its syncs. */

// Charts are most of the console's weight.
const SizeChart = lazy(() => import('./size-chart').then((module) => ({ default: module.SizeChart })));

export type Kind = 'audiences' | 'computed-traits';

interface Props {
  kind: Kind;
  id: string;
  filters: Filters;
}

const LOOK_AGAIN_MS = 10_000;
const DAY_MS = 86_400_000;
const SPANS: readonly { value: string; label: string; ms: number }[] = [
  { value: '1h', label: 'the last hour', ms: 3_600_000 },
  { value: '', label: 'the last 24 hours', ms: DAY_MS },
  { value: '7d', label: 'the last 7 days', ms: 7 * DAY_MS },
  { value: '90d', label: 'the last 90 days', ms: 90 * DAY_MS },
];

export function SizeOverTime({ kind, id, filters }: Props) {
  const span = filters.get('span');
  const spanMs = SPANS.find(({ value }) => value === span)?.ms ?? DAY_MS;
  const query = { from: sinceOf(spanMs, Date.now()) };
  const read = useRead(`GET /${kind}/{id}/sizes`, { id, query }, { every: LOOK_AGAIN_MS, keep: true });
  return (
    <Section title="Size">
      <NativeSelect
        className="narrow"
        mb="sm"
        label="Time"
        data={SPANS.map(({ value, label }) => ({ value, label }))}
        value={span}
        onChange={(event) => filters.set('span', event.target.value)}
      />
      {read.data && !read.error ? (
        <Suspense fallback={<Waiting for="the chart" />}>
          <SizeChart sizes={read.data.data.data} spanMs={spanMs} />
        </Suspense>
      ) : (
        <Unread read={read} what="size" />
      )}
    </Section>
  );
}

export function Syncs({ kind, id, filters }: Props) {
  const after = filters.get('syncs');
  const query = { limit: 20, ...(after !== '' && { after }) };
  const read = useRead(`GET /${kind}/{id}/syncs`, { id, query }, { every: LOOK_AGAIN_MS, keep: true });
  const found = read.data?.data;
  return (
    <Section title="Syncs">
      {!found || read.error ? (
        <Unread read={read} what="syncs" />
      ) : found.data.length === 0 ? (
        <Text size="sm">No syncs yet.</Text>
      ) : (
        <Table label="Syncs" head={['When', 'Users', 'Checked', 'Changed', 'Sent in total', 'Waiting']}>
          {found.data.map(({ at, members, looked, changed, sent, waiting }) => (
            <tr key={at}>
              <td>
                <When at={at} />
              </td>
              <td>{count(members)}</td>
              <td>{count(looked)}</td>
              <td>{count(changed)}</td>
              <td>{count(sent)}</td>
              <td>{count(waiting)}</td>
            </tr>
          ))}
        </Table>
      )}
      <Pager filters={filters} page={found} name="syncs" />
    </Section>
  );
}
