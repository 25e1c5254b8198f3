import { Alert, Stack, Text } from '@mantine/core';
import { type Delivery, type Destination } from '../../../shared/api/operations';
import { isDelivered } from '../../../shared/model/reasons';
import { whyOf } from '../lib/goes-on';
import { outcomeInWords } from '../lib/labels';
import { EventList } from '../ui/event-list';
import { Snippets } from '../ui/snippets';
import { useRead } from '../lib/api';
import { useLiveEvents } from '../lib/live';
import { LinkButton, Pill, Section, TextLink, When } from '../ui/ui';
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
  const arrived = real.some(({ status }) => isDelivered(status));
  return (
    <>
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
        <Section title={words.sendFirst}>
          <Snippets source={sender} writeKey={sender.writeKey} />
        </Section>
      )}
      <div className="beside even">
        <section className="card" aria-label={words.received}>
          <h2>{words.receivedWaypost}</h2>
          <NotForIt of={events[0]} destination={destination} />
          <EventList events={events} empty={words.nothingYet} />
        </section>
        <section className="card" aria-label={words.delivered}>
          <h2>{words.deliveredTo(destination.name)}</h2>
          {real.length === 0 && <Text size="sm">{words.nothingYet}</Text>}
          <ul className="plain">
            {real.map((delivery) => (
              <Arrival key={delivery.id} of={delivery} />
            ))}
          </ul>
        </section>
      </div>
    </>
  );
}

type Event = ReturnType<typeof useLiveEvents>['events'][number];

interface NotForItProps {
  of: Event | undefined;
  destination: Destination;
}

/** Says why the newest event does not go to the destination: else one would wait for it. */
function NotForIt({ of: event, destination: { id } }: NotForItProps) {
  const way = event?.destinations?.find(({ destination }) => destination === id);
  if (!way || way.outcome === 'routed') return null;
  return (
    <Text size="sm" className="warning">
      {words.notForIt(way.reason ?? outcomeInWords(way.outcome))}
    </Text>
  );
}

type Arriving = Pick<
  Delivery,
  'id' | 'type' | 'event' | 'status' | 'acceptedAt' | 'reason' | 'goesOn'
>;

function Arrival({ of: delivery }: { of: Arriving }) {
  const { id, type, event, status, acceptedAt } = delivery;
  return (
    <li className="row">
      <Pill kind={status} />
      <TextLink to={`/deliveries/${id}`}>{event ?? type}</TextLink>
      <When at={acceptedAt} />
      <span className="quiet">{whyOf(delivery, Date.now())}</span>
    </li>
  );
}
