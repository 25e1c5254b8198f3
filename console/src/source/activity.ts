import { type SourceRow } from '../../../shared/api/operations';

/** What the last calls of a source say of it, and what it needs next. Pure. */

type Activity = NonNullable<SourceRow['activity']>;
type Action = 'enable' | 'send' | 'connect';

const MINUTE_MS = 60_000;

/**
 * Returns the next thing that the source needs; undefined: nothing.
 * @param activity undefined: not known
 */
export function nextActionFor(
  { enabled }: Pick<SourceRow, 'enabled'>,
  activity: Pick<Activity, 'calls' | 'destinations'> | undefined,
): Action | undefined {
  if (!enabled) return 'enable';
  if (activity?.destinations === 0) return 'connect';
  return activity?.calls === 0 ? 'send' : undefined;
}

/** Returns how many calls came a minute since the first of the last ones, which may be just now. */
export function perMinuteOf(
  { accepted, rejected, since }: Activity['recent'],
  nowMs: number,
): number {
  if (since === null) return 0;
  return (accepted + rejected) / Math.max(1, (nowMs - Date.parse(since)) / MINUTE_MS);
}

/** Returns the share of rejected calls among the last ones; undefined: there were none. */
export function rejectedShare({
  accepted,
  rejected,
}: Pick<Activity['recent'], 'accepted' | 'rejected'>): number | undefined {
  const all = accepted + rejected;
  return all === 0 ? undefined : rejected / all;
}
