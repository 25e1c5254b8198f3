import { Alert, Stack, Text } from '@mantine/core';
import { type Destination } from '../../../shared/api/operations';
import { EventList } from '../ui/event-list';
import { Snippets } from '../ui/snippets';
import { useRead } from '../lib/api';
import { useLiveEvents } from '../lib/live';
import { LinkButton, Pill, TextLink, When } from '../ui/ui';
import { text } from '../texts';

const words = text.connect.firstEvent;

/** Shows how to send the first event, and waits for it. */
export function FirstEvent({ destination }: { destination: Destination }) {
  const live = useLiveEvents({});
  const events = live.events.filter(({ source }) => destination.sources.includes(source));
  const source = useRead(
    'GET /sources/{id}',
    { id: destination.sources[0] ?? '' },
    { enabled: destination.sources.length > 0 },
  );
  const deliveries = useRead(
    'GET /deliveries',
    { query: { destination: destination.id, limit: 5 } },
    { every: 1_500 },
  );
  const sender = source.data?.data;
  const real = deliveries.data?.data.data.filter(({ test }) => !test) ?? [];
  const arrived = real.some(({ status }) => status === 'delivered');
  return (
    <Stack>
      <div aria-live="polite">
        {arrived ? (
          <Alert color="green" title={words.arrived}>
            <Stack gap="sm" align="flex-start">
              <Text size="sm">{words.arrivedHint}</Text>
              <LinkButton to={`/destinations/${destination.id}`}>
                {words.openDestination}
              </LinkButton>
            </Stack>
          </Alert>
        ) : (
          <Alert color="blue" title={destination.paused ? words.paused : words.waiting}>
            <Text size="sm">{words.sendOne}</Text>
          </Alert>
        )}
      </div>
      {sender && sender.writeKey !== null && (
        <Snippets source={sender} writeKey={sender.writeKey} />
      )}
      <section className="card" aria-label={words.received}>
        <strong>{words.receivedWaypost}</strong>
        <EventList events={events} empty={words.nothingYet} />
      </section>
      <section className="card" aria-label={words.delivered}>
        <strong>{words.deliveredTo(destination.name)}</strong>
        {real.length === 0 && <Text size="sm">{words.nothingYet}</Text>}
        {real.map(({ id, type, status, acceptedAt }) => (
          <div key={id} className="row">
            <Pill kind={status} />
            <TextLink to={`/deliveries/${id}`}>{type}</TextLink>
            <When at={acceptedAt} />
          </div>
        ))}
      </section>
    </Stack>
  );
}
