import { Button, Group, NativeSelect } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { defined } from '../../../shared/collections/defined';
import { PAST, type SourceEvent, useLiveEvents } from '../lib/live';
import { CALL_TYPES, count, stateInWords } from '../lib/labels';
import { lastMinute } from '../lib/recent-calls';
import { EventList } from '../ui/event-list';
import { EntryFilter } from '../ui/entry-picker';
import { ChoiceFilter, type Filters, TextFilter, useFilters } from '../ui/filters';
import { Empty, Pill, useBeat } from '../ui/ui';
import { text } from '../texts';

const words = text.watch.debugger;

const FILTERS = ['source', 'type', 'user', 'accepted'] as const;

interface Props {
  /** shows the calls of this source only */
  source?: string;
  /** what to do while there is no call yet */
  first: ReactNode;
}

/** Live calls: accepted, or rejected with the reason. */
export function CallStream({ source, first }: Props) {
  const filters = useFilters();
  const [held, setHeld] = useState(false);
  const query = { ...filters.query(FILTERS), ...defined({ source }) };
  const { events, state, skipped } = useLiveEvents(query, held);
  return (
    <>
      <form
        className="filters"
        aria-label={words.filter}
        onSubmit={(event) => event.preventDefault()}
      >
        <Verdict filters={filters} />
        {source === undefined && (
          <EntryFilter filters={filters} name="source" label={words.source} kind="sources" />
        )}
        <ChoiceFilter filters={filters} name="type" label={words.type} options={CALL_TYPES} />
        <TextFilter filters={filters} name="user" label={words.userAnonymousId} isExact />
      </form>
      <Group gap="xs">
        <span role="status" className="row">
          <Pill kind={held ? 'paused' : state}>
            {held ? words.paused : state === 'lost' ? words.connectionLost : stateInWords(state)}
          </Pill>
          {skipped > 0 && <span>{words.notShown(words.events(skipped))}</span>}
        </span>
        <Button
          size="compact-sm"
          variant="default"
          aria-pressed={held}
          onClick={() => setHeld(!held)}
        >
          {held ? words.resume : words.pause}
        </Button>
        {!held && <LastMinute events={events} areAll={skipped === 0 && events.length < PAST} />}
      </Group>
      {events.length === 0 && !filters.any ? (
        <Empty title={words.noEvents}>{first}</Empty>
      ) : (
        <section className="card" aria-label={words.calls}>
          <EventList events={events} empty={words.noneMatches} />
        </section>
      )}
    </>
  );
}

/** How many of the calls that the filters choose came lately. */
function LastMinute({ events, areAll }: { events: readonly SourceEvent[]; areAll: boolean }) {
  useBeat(5_000);
  const { accepted, rejected, isLeast } = lastMinute(events, areAll, Date.now());
  const says = words.lastMinute(count(accepted), count(rejected));
  return <span className="quiet">{isLeast ? words.atLeast(says) : says}</span>;
}

function Verdict({ filters }: { filters: Filters }) {
  const data = [
    { value: '', label: words.acceptedAndRejected },
    { value: 'true', label: words.accepted },
    { value: 'false', label: words.rejected },
  ];
  return (
    <NativeSelect
      label={words.show}
      data={data}
      value={filters.get('accepted')}
      onChange={(e) => filters.set('accepted', e.target.value)}
    />
  );
}
