import { Text } from '@mantine/core';
import { useState } from 'react';
import { type Delivery } from '../../../shared/api/operations';
import { type SourceEvent } from '../lib/live';
import { useNames, useRead } from '../lib/api';
import { outcomeInWords, takersInWords } from '../lib/labels';
import { recheckMs } from '../lib/recheck';
import { useMay } from '../lib/session';
import { JsonView } from './json-view';
import { NameLink, Pill, Said, TextLink, When } from './ui';
import { text } from '../texts';

const words = text.ui.eventList;

/** Calls of the sources: accepted, or rejected with the reason. Each expands to its content. */
export function EventList({ events, empty }: { events: SourceEvent[]; empty: string }) {
  const names = useNames(
    'sources',
    events.map(({ source }) => source),
  );
  if (events.length === 0) return <Text size="sm">{empty}</Text>;
  return (
    <ul className="events">
      {events.map((event) => (
        <li key={event.id}>
          <EventItem of={event} source={names.get(event.source) ?? event.source} />
        </li>
      ))}
    </ul>
  );
}

function EventItem({ of: event, source }: { of: SourceEvent; source: string }) {
  const [openedAt, setOpenedAt] = useState<number>();
  return (
    <details
      onToggle={({ currentTarget }) => setOpenedAt(currentTarget.open ? Date.now() : undefined)}
    >
      <summary>
        <Pill kind={event.accepted ? 'accepted' : 'rejected'} />
        <strong>
          <bdi>{event.count === undefined ? titleOf(event.call) : words.calls(event.count)}</bdi>
        </strong>
        <span className="said">
          <span className="quiet">
            {userOf(event.call)} <bdi>{source}</bdi>
          </span>
          {event.destinations && <span className="quiet">{takersInWords(event.destinations)}</span>}
          {event.message !== undefined && (
            <span className="warning">
              <Said message={event.message} />
            </span>
          )}
          {event.warnings.map((warning) => (
            <span key={warning} className="warning">
              {words.warnings[warning]}
            </span>
          ))}
        </span>
        <span className="quiet">
          <When at={event.at} />
        </span>
      </summary>
      {event.count !== undefined && event.call === null ? (
        <Text size="sm">{words.contentNotStored}</Text>
      ) : (
        <JsonView label={words.call} value={event.call} />
      )}
      {event.destinations && (
        <Reached
          destinations={event.destinations}
          message={field(event.call, 'messageId')}
          openedAt={openedAt}
        />
      )}
      {event.code !== undefined && <Text size="sm">{words.rejected(event.code)}</Text>}
    </details>
  );
}

interface ReachedProps {
  destinations: NonNullable<SourceEvent['destinations']>;
  message: string;
  /** when somebody unfolded it, ms since 1970; undefined: it is folded */
  openedAt: number | undefined;
}

/**
 * The destinations of a call, and the reasons against others, by the current configuration; and
 * what became of it there.
 */
function Reached({ destinations, message, openedAt }: ReachedProps) {
  // A router that had fallen behind may have known a destination that was created later.
  const takers = destinations
    .filter(({ outcome }) => outcome === 'routed' || outcome === 'created_later')
    .map(({ destination }) => destination);
  const statuses = useStatuses(message, takers, openedAt);
  if (destinations.length === 0) return <Text size="sm">{words.noDestinations}</Text>;
  return (
    <ul className="reached" aria-label={words.destinations}>
      {destinations.map((one) => (
        <ReachedOne
          key={one.destination}
          of={one}
          status={statuses.get(one.destination)}
          message={message}
        />
      ))}
    </ul>
  );
}

interface ReachedOneProps {
  of: NonNullable<SourceEvent['destinations']>[number];
  /** undefined: no delivery is known yet, or there is none */
  status: Delivery['status'] | undefined;
  message: string;
}

/** What became of a call holds, whatever the current configuration says of it. */
function ReachedOne({
  of: { destination, name, outcome, reason },
  status,
  message,
}: ReachedOneProps) {
  const hasDelivery = status !== undefined || outcome === 'routed';
  return (
    <li>
      <NameLink to={`/destinations/${destination}`} name={name} />:{' '}
      {status === undefined ? outcomeInWords(outcome) : <Pill kind={status} />}
      {status === undefined && reason !== undefined && `: ${reason}`}
      {hasDelivery && message !== '' && (
        <>
          {' '}
          <TextLink
            to={`/deliveries?${new URLSearchParams({ message, destination }).toString()}`}
            aria-label={words.showDeliveryTo(name)}
          >
            {words.showDelivery}
          </TextLink>
        </>
      )}
    </li>
  );
}

/** More than an event shows destinations. */
const MOST_DELIVERIES = 200;

/** Reads the status of a message at each of these destinations, as it changes. */
function useStatuses(
  message: string,
  takers: readonly string[],
  openedAt: number | undefined,
): ReadonlyMap<string, Delivery['status']> {
  const may = useMay('GET /deliveries');
  const read = useRead(
    'GET /deliveries',
    { query: { message, limit: MOST_DELIVERIES } },
    {
      every: (last) => recheckMs(takers, last?.data, Date.now() - (openedAt ?? 0)),
      enabled: may && openedAt !== undefined && message !== '',
    },
  );
  // The newest comes first, and holds.
  const deliveries = read.data?.data.data.toReversed() ?? [];
  return new Map(deliveries.map(({ destination, status }) => [destination, status]));
}

/** A call may have any shape: it may have been rejected for that. */
function field(call: unknown, name: string): string {
  const value: unknown =
    typeof call === 'object' && call !== null ? (call as Record<string, unknown>)[name] : undefined;
  return typeof value === 'string' ? value : '';
}

export function titleOf(call: unknown): string {
  if (typeof call === 'string') return words.partOfCall;
  const detail = field(call, 'event') || field(call, 'name');
  return [field(call, 'type') || words.noType, detail].filter((text) => text !== '').join(': ');
}

export function userOf(call: unknown): string {
  const user = field(call, 'userId') || field(call, 'anonymousId');
  return user === '' ? '' : words.by(user);
}
