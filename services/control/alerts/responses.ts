import { z } from 'zod';
import { ALERT_STATES, NOTICE_KINDS } from './notice';

/** Response schemas of notices. */

const time = z.iso.datetime();
const count = z.int().min(0);

export const notice = z.strictObject({
  id: z.string(),
  at: time,
  destination: z.string(),
  name: z.string().meta({ description: 'Name of the destination at that time' }),
  kind: z.enum(NOTICE_KINDS),
  since: time,
  endedAt: time.nullable().meta({ description: 'null while it continues' }),
  failures: count,
  deadLetters: count,
  error: z.string().nullable().meta({ description: 'The last failure' }),
  alert: z.enum(ALERT_STATES).meta({ description: 'due: not sent yet; none: no alert is sent' }),
  delivery: z.string().nullable().meta({ description: 'The delivery of the alert' }),
  acknowledged: z.strictObject({ at: time, by: z.strictObject({ id: z.string(), name: z.string() }) }).nullable(),
});
