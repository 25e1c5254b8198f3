import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type Actor } from '../auth/identities';
import { pageParameters } from '../http/query';

/** What the console shows and the operational webhook is told: pure. */

export const NOTICE_KINDS = ['failing', 'recovered', 'dead_letters', 'switched_off'] as const;
type NoticeKind = (typeof NOTICE_KINDS)[number];

/** `none`: nobody is to be told, or nobody was there; `due`: still to be sent */
export const ALERT_STATES = ['none', 'due', 'sent'] as const;

/** Times are ms since 1970. */
export interface Notice {
  id: string;
  at: number;
  destination: string;
  /** as it was called at that time */
  name: string;
  kind: NoticeKind;
  since: number;
  /** null: it goes on */
  endedAt: number | null;
  failures: number;
  deadLetters: number;
  /** the last failure, in words */
  error: string | null;
  alert: (typeof ALERT_STATES)[number];
  acknowledged: { at: number; by: Pick<Actor, 'id' | 'name'> } | null;
}

/** The same for the same thing: whoever decides it twice says it once. */
export function noticeId(destination: string, kind: NoticeKind, mark: number): string {
  const digest = createHash('sha256')
    .update(`${destination}\0${kind}\0${String(mark)}`)
    .digest('base64url');
  return `ntc_${digest.slice(0, 22)}`;
}

const flag = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .meta({ type: 'boolean' });

export const noticesQuery = pageParameters.extend({
  destination: z.string().optional(),
  kind: z.enum(NOTICE_KINDS).optional(),
  open: flag.optional().meta({ description: 'true: ongoing notices; false: ended ones' }),
  acknowledged: flag.optional(),
});

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
