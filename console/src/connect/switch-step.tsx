import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { type Destination } from '../../../shared/api/operations';
import { DESTINATION_FIELDS } from '../destination/conflict';
import { Unsaved, useSaveDestination } from '../destination/save';
import { LinkButton } from '../ui/ui';

/** Enables the destination, so that Waypost sends or holds real messages. */
export function SwitchStep(stored: { destination: Destination; etag: string }) {
  // Enables the version that was shown: if it has changed since, the step shows the change first.
  const [{ destination, etag }, setBegun] = useState(stored);
  const [paused, setPaused] = useState(false);
  const navigate = useNavigate();
  const live = `/connect/${destination.id}/live`;
  const save = useSaveDestination(destination.id, () => void navigate(live));
  const set = (hold: boolean) => {
    setPaused(hold);
    save.send({ enabled: true, paused: hold }, etag);
  };
  return (
    <Stack>
      <section className="card" aria-label="Enable">
        <Text fw={600}>Enable it</Text>
        <Text size="sm">Start sending events from the selected sources.</Text>
        <Button className="start" mt="sm" loading={save.busy} onClick={() => set(false)}>
          Enable
        </Button>
      </section>
      <section className="card" aria-label="Enable, but pause">
        <Text fw={600}>Enable it, but pause</Text>
        <Text size="sm">
          Events are held until you resume, for up to the retry window (4 hours unless your installation changed it).
        </Text>
        <Button className="start" mt="sm" variant="default" loading={save.busy} onClick={() => set(true)}>
          Enable, paused
        </Button>
      </section>
      <Unsaved
        saving={save}
        names={DESTINATION_FIELDS}
        before={destination}
        patch={{ enabled: true, paused }}
        what="enable it"
        onDrop={({ data, etag: tag = '' }) => {
          setBegun({ destination: data, etag: tag });
          if (data.enabled) void navigate(live);
        }}
      />
      <Group>
        <LinkButton to={`/destinations/${destination.id}`}>Keep it disabled for now</LinkButton>
      </Group>
    </Stack>
  );
}
