import { Text } from '@mantine/core';
import { type SourceEvent } from '../lib/live';
import { useNames } from '../lib/api';
import { outcomeInWords } from '../lib/labels';
import { JsonView } from './json-view';
import { Pill, TextLink, When } from './ui';
import { text } from '../texts';

const words = text.ui.eventList;

/** Calls of the sources: accepted, or rejected with the reason. Each expands to its content. */
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
              <span className="said">
                <span className="quiet">
                  {userOf(event.call)} {names.get(event.source) ?? event.source}
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
              <Reached destinations={event.destinations} message={field(event.call, 'messageId')} />
            )}
            {event.code !== undefined && <Text size="sm">{words.rejected(event.code)}</Text>}
          </details>
        </li>
      ))}
    </ul>
  );
}

/** The destinations of a call, and the reasons against others, by the current configuration. */
function Reached({
  destinations,
  message,
}: {
  destinations: NonNullable<SourceEvent['destinations']>;
  message: string;
}) {
  if (destinations.length === 0) return <Text size="sm">{words.noDestinations}</Text>;
  return (
    <ul className="reached" aria-label={words.destinations}>
      {destinations.map(({ destination, name, outcome, reason }) => (
        <li key={destination}>
          <TextLink to={`/destinations/${destination}`}>{name}</TextLink>: {outcomeInWords(outcome)}
          {reason !== undefined && `: ${reason}`}
          {outcome === 'routed' && message !== '' && (
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
      ))}
    </ul>
  );
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
