import { type Audit, type Notice } from '../../../shared/api/operations';
import { type Range, type Step } from './series';

/**
 * What happened at a moment, for charts: a notice was raised, or somebody changed something. Pure.
 */

export interface Mark {
  at: string;
  kind: 'notice' | 'recovery' | 'change';
  /** kind of the notice, or what somebody did */
  what: string;
  /** of the destination */
  name: string;
  /** the page that tells more */
  to: string;
}

type NoticeRow = Pick<Notice, 'at' | 'kind' | 'name' | 'destination'>;
type ChangeRow = Pick<Audit['data'][number], 'at' | 'action' | 'name' | 'entry' | 'version'>;

/** Returns the marks of a part of the time in order, as a chart shows them. */
export function marksOf(
  { notices, changes }: { notices: readonly NoticeRow[]; changes: readonly ChangeRow[] },
  { since, until }: Pick<Range, 'since'> & { until: string | undefined },
): Mark[] {
  const marks = [
    ...notices.map(({ at, kind, name, destination }): Mark => ({
      at,
      kind: kind === 'recovered' ? 'recovery' : 'notice',
      what: kind,
      name,
      to: `/notices?${new URLSearchParams(destination === null ? { kind } : { kind, destination }).toString()}`,
    })),
    // What changed nothing, such as a test, is none.
    ...changes
      .filter(({ version }) => version !== null)
      .map(({ at, action, name, entry }): Mark => ({
        at,
        kind: 'change',
        what: action,
        name,
        to: `/audit?entry=${encodeURIComponent(entry)}`,
      })),
  ];
  const [from, to] = [Date.parse(since), until === undefined ? Infinity : Date.parse(until)];
  return marks
    .filter(({ at }) => Date.parse(at) >= from && Date.parse(at) < to)
    .sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

/** Of several marks in one step, the first of these kinds shows. */
const BY_WEIGHT = ['notice', 'recovery', 'change'] as const;

/** Returns the steps that have a mark. One with a notice of trouble is marked by it. */
export function markedSteps(
  marks: readonly Pick<Mark, 'at' | 'kind'>[],
  steps: readonly Pick<Step<unknown>, 'at' | 'until'>[],
): Pick<Mark, 'at' | 'kind'>[] {
  return steps.flatMap(({ at, until }) => {
    const own = marks.filter(
      (mark) => Date.parse(mark.at) >= Date.parse(at) && Date.parse(mark.at) < Date.parse(until),
    );
    const kind = BY_WEIGHT.find((each) => own.some((mark) => mark.kind === each));
    return kind === undefined ? [] : [{ at, kind }];
  });
}
