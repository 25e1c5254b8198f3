import { SegmentedControl, Text } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { useRead } from '../lib/api';
import { sinceOf } from '../lib/series';
import { count } from '../lib/labels';
import { type Filters, Pager } from '../ui/filters';
import { Listed, number, Section, Table, Unread, Waiting, When } from '../ui/ui';
import { text } from '../texts';

const words = text.audience.history;

/** The history of an audience or computed trait: its size over time, and its syncs. */

// Charts are most of the console's weight.
const SizeChart = lazy(() =>
  import('./size-chart').then((module) => ({ default: module.SizeChart })),
);

export type Kind = 'audiences' | 'computed-traits';

interface Props {
  kind: Kind;
  id: string;
  filters: Filters;
}

const LOOK_AGAIN_MS = 10_000;
const DAY_MS = 86_400_000;
/** The span of an address without one. */
const DAY = '24h';
const SPANS: readonly { value: string; label: string; ms: number }[] = [
  { value: '1h', label: words.lastHour, ms: 3_600_000 },
  { value: '', label: words.last24Hours, ms: DAY_MS },
  { value: '7d', label: words.last7Days, ms: 7 * DAY_MS },
  { value: '90d', label: words.last90Days, ms: 90 * DAY_MS },
];

export function SizeOverTime({ kind, id, filters }: Props) {
  const span = filters.get('span');
  const spanMs = SPANS.find(({ value }) => value === span)?.ms ?? DAY_MS;
  const query = { from: sinceOf(spanMs, Date.now()) };
  const read = useRead(
    `GET /${kind}/{id}/sizes`,
    { id, query },
    { every: LOOK_AGAIN_MS, keep: true },
  );
  return (
    <section aria-label={words.size}>
      <div className="row spread">
        <h2>{words.size}</h2>
        <SegmentedControl
          size="xs"
          aria-label={words.time}
          data={SPANS.map(({ value, label }) => ({ value: value === '' ? DAY : value, label }))}
          value={span === '' ? DAY : span}
          onChange={(value) => filters.set('span', value === DAY ? '' : value)}
        />
      </div>
      {read.data && !read.error ? (
        <Suspense fallback={<Waiting for={words.chart} />}>
          <SizeChart sizes={read.data.data.data} spanMs={spanMs} />
        </Suspense>
      ) : (
        <Unread read={read} what={words.sizes} />
      )}
    </section>
  );
}

export function Syncs({ kind, id, filters }: Props) {
  const query = { limit: 20, ...filters.query(['after']) };
  const read = useRead(
    `GET /${kind}/{id}/syncs`,
    { id, query },
    { every: LOOK_AGAIN_MS, keep: true },
  );
  return (
    <Section title={words.syncs}>
      <Listed read={read} what={words.theSyncs} empty={<Text size="sm">{words.noSyncsYet}</Text>}>
        {(syncs) => (
          <Table
            label={words.syncs}
            head={[
              words.when,
              number(words.users),
              number(words.checked),
              number(words.changed),
              number(words.sentTotal),
              number(words.waiting),
            ]}
          >
            {syncs.map(({ at, members, looked, changed, sent, waiting }) => (
              <tr key={at}>
                <td>
                  <When at={at} />
                </td>
                <td className="number">{count(members)}</td>
                <td className="number">{count(looked)}</td>
                <td className="number">{count(changed)}</td>
                <td className="number">{count(sent)}</td>
                <td className="number">{count(waiting)}</td>
              </tr>
            ))}
          </Table>
        )}
      </Listed>
      <Pager filters={filters} page={read.data?.data} />
    </Section>
  );
}
