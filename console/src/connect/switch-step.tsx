import { Button, Group, Stack, Text } from '@mantine/core';
import { useNavigate } from 'react-router';
import { type Destination } from '../../../shared/api/operations';
import { useChange } from '../lib/api';
import { Failure, LinkButton } from '../ui/ui';

/** The moment from which real messages are sent; or held. */
export function SwitchStep({ destination, etag }: { destination: Destination; etag: string }) {
  const navigate = useNavigate();
  const change = useChange('PATCH /destinations/{id}', {
    onDone: () => void navigate(`/connect/${destination.id}/live`),
  });
  const set = (paused: boolean) =>
    change.mutate({ id: destination.id, ifMatch: etag, body: { enabled: true, paused } });
  return (
    <Stack>
      <section className="card" aria-label="Switch on">
        <Text fw={600}>Switch it on</Text>
        <Text size="sm">From now on each message of its sources is sent.</Text>
        <Button className="start" mt="sm" loading={change.isPending} onClick={() => set(false)}>
          Switch on
        </Button>
      </section>
      <section className="card" aria-label="Switch on, but pause">
        <Text fw={600}>Switch it on, but pause</Text>
        <Text size="sm">What comes waits, for four hours at most, until you end the pause.</Text>
        <Button className="start" mt="sm" variant="default" loading={change.isPending} onClick={() => set(true)}>
          Switch on, paused
        </Button>
      </section>
      {change.error && <Failure error={change.error} what="the switch" />}
      <Group>
        <LinkButton to={`/destinations/${destination.id}`}>Leave it off for now</LinkButton>
      </Group>
    </Stack>
  );
}
