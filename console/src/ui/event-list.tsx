import { Text } from '@mantine/core';
import { useState } from 'react';
import { type SourceEvent } from '../lib/live';
import { useNames, useRead } from '../lib/api';
import { outcomeInWords } from '../lib/labels';
import { useMay } from '../lib/session';
import { JsonView } from './json-view';
import { NameLink, Pill, TextLink, When } from './ui';
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
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <Pill kind={event.accepted ? 'accepted' : 'rejected'} />
        <strong>
          <bdi>{titleOf(event.call)}</bdi>
        </strong>
        <span className="said">
          <span className="quiet">
            {userOf(event.call)} <bdi>{source}</bdi>
          </span>
          {event.message !== undefined && <span className="bad">{event.message}</span>}
          {event.warnings.map((warning) => (
            <span key={warning} className="bad">
              {words.warnings[warning]}
            </span>
          ))}
        </span>
        <span className="quiet">
          <When at={event.at} />
        </span>
      </summary>
      <JsonView label={words.call} value={event.call} />
      {event.destinations && (
        <Reached
          destinations={event.destinations}
          message={field(event.call, 'messageId')}
          isShown={isOpen}
        />
      )}
      {event.code !== undefined && <Text size="sm">{words.rejected(event.code)}</Text>}
    </details>
  );
}

interface ReachedProps {
  destinations: NonNullable<SourceEvent['destinations']>;
  message: string;
  /** somebody has unfolded it */
  isShown: boolean;
}

/** The destinations of a call, and the reasons against others, by the current configuration. */
function Reached({ destinations, message, isShown }: ReachedProps) {
  if (destinations.length === 0) return <Text size="sm">{words.noDestinations}</Text>;
  return (
    <ul className="reached" aria-label={words.destinations}>
      {destinations.map(({ destination, name, outcome, reason }) => (
        <li key={destination}>
          <NameLink to={`/destinations/${destination}`} name={name} />: {outcomeInWords(outcome)}
          {reason !== undefined && `: ${reason}`}
          {outcome === 'routed' && message !== '' && (
            <>
              {' '}
              {isShown && <BecameOfIt message={message} destination={destination} />}{' '}
              <TextLink
                to={`/deliveries?${new URLSearchParams({ message, destination }).toString()}`}
                aria-label={words.showDeliveryTo(name)}
              >
                {words.showDelivery}
              </TextLink>
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

const LOOK_AGAIN_MS = 2_000;

/** What became of a message at a destination, as it changes. */
function BecameOfIt({ message, destination }: { message: string; destination: string }) {
  const query = { message, destination, limit: 1 };
  const read = useRead(
    'GET /deliveries',
    { query },
    {
      every: (last) => (last?.data[0]?.settledAt == null ? LOOK_AGAIN_MS : false),
      enabled: useMay('GET /deliveries'),
    },
  );
  const status = read.data?.data.data[0]?.status;
  return status === undefined ? null : <Pill kind={status} />;
}

/** A call may have any shape: it may have been rejected for that. */
function field(call: unknown, name: string): string {
  const value: unknown =
    typeof call === 'object' && call !== null ? (call as Record<string, unknown>)[name] : undefined;
  return typeof value === 'string' ? value : '';
}

export function titleOf(call: unknown): string {
  const detail = field(call, 'event') || field(call, 'name');
  return [field(call, 'type') || words.noType, detail].filter((text) => text !== '').join(': ');
}

export function userOf(call: unknown): string {
  const user = field(call, 'userId') || field(call, 'anonymousId');
  return user === '' ? '' : words.by(user);
}
