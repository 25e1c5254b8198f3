import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { type Event as SourceEvent } from '../../../shared/api/operations';
import { call } from './api';

/** Events as they come, the newest first. The browser itself comes back after a break, and is given what it missed. */

export type { SourceEvent };

/** More than a person looks through; each one is drawn. */
const MAX_SHOWN = 200;

interface Live {
  events: SourceEvent[];
  state: 'connecting' | 'live' | 'lost';
  /** those left out, since more came than can be read */
  skipped: number;
}

/**
 * @param query as the API filters
 * @param held while true, what comes is kept aside, and shown when it is false again
 */
export function useLiveEvents(query: Record<string, string>, held = false): Live {
  const search = new URLSearchParams(query).toString();
  const [live, setLive] = useState<Live>({ events: [], state: 'connecting', skipped: 0 });
  const [shown, setShown] = useState<SourceEvent[]>([]);
  const queries = useQueryClient();
  useEffect(() => {
    setLive({ events: [], state: 'connecting', skipped: 0 });
    const stream = new EventSource(`/api/v1/events/stream${search === '' ? '' : `?${search}`}`);
    stream.onopen = () => setLive((before) => ({ ...before, state: 'live' }));
    stream.onmessage = ({ data }: MessageEvent<string>) => {
      const event = JSON.parse(data) as SourceEvent;
      setLive((before) => ({ ...before, events: withNew(before.events, event) }));
    };
    stream.addEventListener('skipped', ({ data }: MessageEvent<string>) => {
      setLive((before) => ({ ...before, skipped: before.skipped + skippedIn(data) }));
    });
    stream.onerror = () => {
      setLive((before) => ({ ...before, state: stream.readyState === EventSource.CLOSED ? 'lost' : 'connecting' }));
      // A stream does not say why it was refused; a question does, and where the session is over leads to the sign-in.
      if (stream.readyState === EventSource.CLOSED) {
        void queries
          .fetchQuery({ queryKey: ['GET /session'], queryFn: () => call('GET /session', {}), staleTime: 0 })
          .catch(() => undefined);
      }
    };
    return () => {
      stream.close();
    };
  }, [search, queries]);
  useEffect(() => {
    if (!held) setShown(live.events);
  }, [held, live.events]);
  return { ...live, events: held ? shown : live.events };
}

/** The same event may come twice after a break. */
function withNew(events: SourceEvent[], event: SourceEvent): SourceEvent[] {
  if (events.some(({ id }) => id === event.id)) return events;
  return [event, ...events].slice(0, MAX_SHOWN);
}

function skippedIn(data: string): number {
  return (JSON.parse(data) as { count: number }).count;
}
