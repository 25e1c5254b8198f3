import { Button, Group, NativeSelect } from '@mantine/core';
import { useState } from 'react';
import { useLiveEvents } from '../lib/live';
import { counted, CALL_TYPES } from '../lib/labels';
import { EventList } from '../ui/event-list';
import { ChoiceFilter, type Filters, NameFilter, TextFilter, useFilters } from '../ui/filters';
import { Page, Pill } from '../ui/ui';

const FILTERS = ['source', 'type', 'user', 'accepted'] as const;

/** Live calls of the sources: accepted, or rejected with the reason. */
export function Debugger() {
  const filters = useFilters();
  const [held, setHeld] = useState(false);
  const { events, state, skipped } = useLiveEvents(filters.query(FILTERS), held);
  return (
    <Page
      title="Debugger"
      actions={
        <Button variant="default" aria-pressed={held} onClick={() => setHeld(!held)}>
          {held ? 'Resume' : 'Pause'}
        </Button>
      }
    >
      <form className="filters" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
        <Verdict filters={filters} />
        <NameFilter filters={filters} name="source" label="Source" kind="sources" />
        <ChoiceFilter filters={filters} name="type" label="Type" options={CALL_TYPES} />
        <TextFilter filters={filters} name="user" label="User or anonymous id" />
      </form>
      <Group gap="xs" role="status">
        <Pill kind={held ? 'paused' : state}>{held ? 'paused' : state === 'lost' ? 'connection lost' : state}</Pill>
        {skipped > 0 && <span>{counted(skipped, 'event')} not shown: too many arrived at once</span>}
      </Group>
      <section className="card" aria-label="Calls">
        <EventList events={events} empty="No events yet. Calls appear here as soon as a source sends them." />
      </section>
    </Page>
  );
}

function Verdict({ filters }: { filters: Filters }) {
  const data = [
    { value: '', label: 'accepted and rejected' },
    { value: 'true', label: 'accepted' },
    { value: 'false', label: 'rejected' },
  ];
  return (
    <NativeSelect
      label="Show"
      data={data}
      value={filters.get('accepted')}
      onChange={(e) => filters.set('accepted', e.target.value)}
    />
  );
}
