import { Text } from '@mantine/core';
import { type SourceEvent } from '../lib/live';
import { useNames } from '../lib/api';
import { outcomeInWords } from '../lib/labels';
import { Code, json, Pill, TextLink, When } from './ui';

/** Calls as sources sent them: accepted, or rejected and why. Each opens to what was sent. */
export function EventList({ events, empty }: { events: SourceEvent[]; empty: string }) {
  const names = useNames('sources');
  if (events.length === 0) return <Text size="sm">{empty}</Text>;
  return (
    <ul className="events">
      {events.map((event) => (
        <li key={event.id}>
          <details>
            <summary>
              <Pill kind={event.accepted ? 'accepted' : 'rejected'} />
              <strong>{titleOf(event.call)}</strong>
              <span className="quiet">
                {userOf(event.call)} {names.get(event.source) ?? event.source}, <When at={event.at} />
              </span>
              {event.message !== undefined && <span className="bad">{event.message}</span>}
            </summary>
            <Code label="call" text={json(event.call)} />
            {event.destinations && <Reached destinations={event.destinations} />}
            {event.code !== undefined && <Text size="sm">Rejected: {event.code}</Text>}
          </details>
        </li>
      ))}
    </ul>
  );
}

/** Where it goes, or why it goes no further: by the configuration as it is now. */
function Reached({ destinations }: { destinations: NonNullable<SourceEvent['destinations']> }) {
  if (destinations.length === 0) return <Text size="sm">No destinations are connected to this source.</Text>;
  return (
    <ul className="reached" aria-label="Destinations">
      {destinations.map(({ destination, name, outcome, reason }) => (
        <li key={destination}>
          <TextLink to={`/destinations/${destination}`}>{name}</TextLink>: {outcomeInWords(outcome)}
          {reason !== undefined && `: ${reason}`}
        </li>
      ))}
    </ul>
  );
}

/** What was sent may be of any shape: it was perhaps rejected for that. */
function field(call: unknown, name: string): string {
  const value: unknown =
    typeof call === 'object' && call !== null ? (call as Record<string, unknown>)[name] : undefined;
  return typeof value === 'string' ? value : '';
}

function titleOf(call: unknown): string {
  const detail = field(call, 'event') || field(call, 'name');
  return [field(call, 'type') || 'no type', detail].filter((text) => text !== '').join(': ');
}

function userOf(call: unknown): string {
  const user = field(call, 'userId') || field(call, 'anonymousId');
  return user === '' ? '' : `by ${user},`;
}
