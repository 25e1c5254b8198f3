import { Button, Group, NativeSelect } from '@mantine/core';
import { useState } from 'react';
import { useLiveEvents } from '../lib/live';
import { CALL_TYPES, stateInWords } from '../lib/labels';
import { EventList } from '../ui/event-list';
import { EntryFilter } from '../ui/entry-picker';
import { ChoiceFilter, type Filters, TextFilter, useFilters } from '../ui/filters';
import { Page, Pill } from '../ui/ui';
import { text } from '../texts';

const words = text.watch.debugger;

const FILTERS = ['source', 'type', 'user', 'accepted'] as const;

/** Live calls of the sources: accepted, or rejected with the reason. */
export function Debugger() {
  const filters = useFilters();
  const [held, setHeld] = useState(false);
  const { events, state, skipped } = useLiveEvents(filters.query(FILTERS), held);
  return (
    <Page
      title={words.debugger}
      actions={
        <Button variant="default" aria-pressed={held} onClick={() => setHeld(!held)}>
          {held ? words.resume : words.pause}
        </Button>
      }
    >
      <form
        className="filters"
        aria-label={words.filter}
        onSubmit={(event) => event.preventDefault()}
      >
        <Verdict filters={filters} />
        <EntryFilter filters={filters} name="source" label={words.source} kind="sources" />
        <ChoiceFilter filters={filters} name="type" label={words.type} options={CALL_TYPES} />
        <TextFilter filters={filters} name="user" label={words.userAnonymousId} />
      </form>
      <Group gap="xs" role="status">
        <Pill kind={held ? 'paused' : state}>
          {held ? words.paused : state === 'lost' ? words.connectionLost : stateInWords(state)}
        </Pill>
        {skipped > 0 && <span>{words.notShown(words.events(skipped))}</span>}
      </Group>
      <section className="card" aria-label={words.calls}>
        <EventList events={events} empty={words.noEvents} />
      </section>
    </Page>
  );
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
