import { Stack, Text } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { useRead } from '../lib/api';
import { sinceOf, stepSecondsOf } from '../lib/series';
import { LONG_SPANS, spanNamed, USUAL_SPAN_NAME } from '../lib/spans';
import { count } from '../lib/labels';
import { type Filters, Pager } from '../ui/filters';
import { SpanChoice } from '../ui/span-choice';
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

export function SizeOverTime({ kind, id, filters }: Props) {
  const { name: chosen, ms } = spanNamed(filters.get('span'), LONG_SPANS);
  const stepSeconds = stepSecondsOf(ms);
  const since = sinceOf(ms, Date.now(), stepSeconds * 1_000);
  const read = useRead(
    `GET /${kind}/{id}/sizes`,
    { id, query: { from: since } },
    { every: LOOK_AGAIN_MS, keep: true },
  );
  return (
    <section aria-label={words.usersOverTime}>
      <Stack gap="sm">
        <div className="row spread">
          <h2>{words.usersOverTime}</h2>
          <div className="row">
            <SpanChoice
              size="xs"
              spans={LONG_SPANS}
              value={chosen}
              onChange={(name) => filters.set('span', name === USUAL_SPAN_NAME ? '' : name)}
            />
          </div>
        </div>
        {read.data && !read.error ? (
          <Suspense fallback={<Waiting for={words.chart} />}>
            <SizeChart sizes={read.data.data.data} span={{ since, stepSeconds }} />
          </Suspense>
        ) : (
          <Unread read={read} what={words.sizes} />
        )}
      </Stack>
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
            label={words.newestSyncs}
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
