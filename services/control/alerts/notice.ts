import { createHash } from 'node:crypto';
import { type Actor } from '../auth/identities';
import { type ALERT_STATES, type NOTICE_KINDS } from '../../../shared/api/alerts';

/** A notice, as shown in the console and sent to the alert webhook. Pure. */

type NoticeKind = (typeof NOTICE_KINDS)[number];

/** Times are ms since 1970. */
export interface Notice {
  id: string;
  at: number;
  destination: string;
  /** the destination's name at that time */
  name: string;
  kind: NoticeKind;
  since: number;
  /** null: not over */
  endedAt: number | null;
  failures: number;
  deadLetters: number;
  /** the last failure, as text */
  error: string | null;
  alert: (typeof ALERT_STATES)[number];
  acknowledged: { at: number; by: Pick<Actor, 'id' | 'name'> } | null;
}

/** Returns the same id for the same event, so that a repeated decision adds no second notice. */
export function noticeId(destination: string, kind: NoticeKind, mark: number): string {
  const digest = createHash('sha256')
    .update(`${destination}\0${kind}\0${String(mark)}`)
    .digest('base64url');
  return `ntc_${digest.slice(0, 22)}`;
}

export function noticeView({ at, since, endedAt, acknowledged, ...notice }: Notice) {
  const iso = (ms: number) => new Date(ms).toISOString();
  return {
    ...notice,
    at: iso(at),
    since: iso(since),
    endedAt: endedAt === null ? null : iso(endedAt),
    acknowledged: acknowledged && { at: iso(acknowledged.at), by: acknowledged.by },
  };
}
