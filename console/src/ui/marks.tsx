import { defined } from '../../../shared/collections/defined';
import { useRead } from '../lib/api';
import { clock, stateInWords } from '../lib/labels';
import { type Mark, marksOf } from '../lib/marks';
import { type Range } from '../lib/series';
import { useMay } from '../lib/session';
import { TextLink } from './ui';
import { text } from '../texts';

const words = text.ui.marks;

/** Notices and changes beside charts, which say what happened at the marked times. */

/** Of many, the newest are marked. */
const MOST_MARKS = 50;
const LOOK_AGAIN_MS = 30_000;

interface Asked extends Pick<Range, 'since'> {
  /** empty: all */
  destination: string;
  /** undefined: up to now */
  until: string | undefined;
}

/**
 * Returns what happened to a destination, or to all, in a part of the time, as far as the user may
 * know.
 */
export function useMarks({ destination, since, until }: Asked): Mark[] {
  const of = destination === '' ? undefined : destination;
  const options = { every: LOOK_AGAIN_MS, keep: true };
  const notices = useRead(
    'GET /notices',
    { query: { limit: MOST_MARKS, ...defined({ destination: of }) } },
    { ...options, enabled: useMay('GET /notices') },
  );
  const changes = useRead(
    'GET /audit',
    {
      query: {
        kind: 'destination',
        limit: MOST_MARKS,
        since,
        ...defined({ until, entry: of }),
      },
    },
    { ...options, enabled: useMay('GET /audit') },
  );
  return marksOf(
    { notices: notices.data?.data.data ?? [], changes: changes.data?.data.data ?? [] },
    { since, until },
  );
}

const SHOWN = 6;

/** The newest marks in words, in the order of the chart above. */
export function Marks({ marks }: { marks: readonly Mark[] }) {
  if (marks.length === 0) return null;
  const earlier = marks.length - SHOWN;
  return (
    <ul className="marks" aria-label={words.marks}>
      {earlier > 0 && <li className="quiet">{words.earlier(earlier)}</li>}
      {marks.slice(-SHOWN).map(({ at, kind, what, name, to }) => (
        <li key={`${at} ${kind} ${what} ${name}`} className={`mark mark-${kind}`}>
          <time dateTime={at}>{clock(at, Date.now())}</time>{' '}
          <TextLink to={to}>
            <bdi>{name}</bdi> {stateInWords(what)}
          </TextLink>
        </li>
      ))}
    </ul>
  );
}
