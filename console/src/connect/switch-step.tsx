import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { type Destination } from '../../../shared/api/operations';
import { DESTINATION_LABELS } from '../destination/conflict';
import { Unsaved, useSaveDestination } from '../destination/save';
import { useRead } from '../lib/api';
import { LinkButton } from '../ui/ui';
import { text } from '../texts';

const words = text.connect.switchStep;

/** Enables the destination, so that Waypost sends or holds real messages. */
export function SwitchStep(stored: { destination: Destination; etag: string }) {
  // Enables the version that was shown: if it has changed since, the step shows the change first.
  const [{ destination, etag }, setBegun] = useState(stored);
  const [paused, setPaused] = useState(false);
  const navigate = useNavigate();
  const about = useRead('GET /about', {});
  const window = destination.retry?.window ?? about.data?.data.retry.window;
  const live = `/connect/${destination.id}/live`;
  const save = useSaveDestination(destination.id, () => void navigate(live));
  const set = (hold: boolean) => {
    setPaused(hold);
    save.send({ enabled: true, paused: hold }, etag);
  };
  return (
    <Stack>
      <section className="card" aria-label={words.enable}>
        <Text fw={600}>{words.enableIt}</Text>
        <Text size="sm">{words.enableHint}</Text>
        <Button className="start" mt="sm" loading={save.busy} onClick={() => set(false)}>
          {words.enable}
        </Button>
      </section>
      <section className="card" aria-label={words.enableButPause}>
        <Text fw={600}>{words.enablePausedTitle}</Text>
        <Text size="sm">{words.enablePausedHint(window)}</Text>
        <Button
          className="start"
          mt="sm"
          variant="default"
          loading={save.busy}
          onClick={() => set(true)}
        >
          {words.enablePaused}
        </Button>
      </section>
      <Unsaved
        saving={save}
        names={DESTINATION_LABELS}
        before={destination}
        patch={{ enabled: true, paused }}
        what={words.enableTask}
        onDrop={({ data, etag: tag = '' }) => {
          setBegun({ destination: data, etag: tag });
          if (data.enabled) void navigate(live);
        }}
      />
      <Group>
        <LinkButton to={`/destinations/${destination.id}`}>{words.keepDisabled}</LinkButton>
      </Group>
    </Stack>
  );
}
