import { parseJson } from '../../../shared/json/json';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { type Event as SourceEvent } from '../../../shared/api/operations';
import { call } from './api';
import { withNew, withPast } from './merge';

/**
 * Streams recent and new events. After a break the browser reconnects by itself and receives the
 * missed events.
 */

export type { SourceEvent };

/** Past calls that are read at first. If fewer came, there are no older ones. */
export const PAST = 50;

interface Live {
  events: SourceEvent[];
  state: 'connecting' | 'live' | 'lost';
  /** number of events that were left out because more came than a person can read */
  skipped: number;
}

const NOTHING: Live = { events: [], state: 'connecting', skipped: 0 };

/**
 * @param query filters of the API
 * @param held true buffers new events until it is false again
 */
export function useLiveEvents(query: Record<string, string>, held = false): Live {
  const search = new URLSearchParams(query).toString();
  const [live, setLive] = useState<Live>(NOTHING);
  const [shown, setShown] = useState<SourceEvent[]>([]);
  const queries = useQueryClient();
  useEffect(() => {
    setLive(NOTHING);
    const lost = () => {
      // A stream does not report why it was refused. A request does, and leads to the sign-in if
      // the session is over.
      const session = {
        queryKey: ['GET /session'],
        queryFn: () => call('GET /session', {}),
        staleTime: 0,
      };
      queries.query(session).catch(() => undefined);
    };
    return follow(search, setLive, lost);
  }, [search, queries]);
  useEffect(() => {
    if (!held) setShown(live.events);
  }, [held, live.events]);
  return { ...live, events: held ? shown : live.events };
}

type Change = (change: (before: Live) => Live) => void;

/** @returns a function that ends it */
function follow(search: string, change: Change, onLost: () => void): () => void {
  const stream = new EventSource(`/api/v1/events/stream${search === '' ? '' : `?${search}`}`);
  let ended = false;
  const read = () => {
    // Read the past once the stream has begun: no event can fall between the two.
    const query = { ...Object.fromEntries(new URLSearchParams(search)), limit: PAST };
    call('GET /events', { query }).then(
      ({ data: { data: past } }) => {
        if (!ended) change((before) => ({ ...before, events: withPast(before.events, past) }));
      },
      // The stream continues without it, or reports its own failure.
      () => undefined,
    );
  };
  stream.addEventListener('open', read, { once: true });
  stream.onopen = () => change((before) => ({ ...before, state: 'live' }));
  stream.onmessage = ({ data }: MessageEvent<string>) => {
    const event = parseJson(data) as SourceEvent;
    change((before) => ({ ...before, events: withNew(before.events, event) }));
  };
  stream.addEventListener('skipped', ({ data }: MessageEvent<string>) => {
    const { count } = JSON.parse(data) as { count: number };
    change((before) => ({ ...before, skipped: before.skipped + count }));
  });
  stream.onerror = () => {
    const over = stream.readyState === EventSource.CLOSED;
    change((before) => ({ ...before, state: over ? 'lost' : 'connecting' }));
    if (over) onLost();
  };
  return () => {
    ended = true;
    stream.close();
  };
}
