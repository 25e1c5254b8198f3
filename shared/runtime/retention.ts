import { type Destination } from '../model/config';
import { formatDuration, parseDuration } from '../model/time';
import { AppError } from './errors';
import { list } from './setting-types';

/** WAYPOST_TOPIC_RETENTION: the retention of the topics that hold nearly all bytes. */

const RETAINED = ['messages', 'webhooks', 'attempts'] as const;
/** Dead letters have this retention, and nothing outlasts them. */
const MOST = '30d';
const MOST_MS = 30 * 86_400_000;

/** ms by topic; a topic without an entry keeps its records for the default time */
export type TopicRetention = Partial<Record<(typeof RETAINED)[number], number>>;

/** Parses `messages=3d,webhooks=1d`. */
export const topicRetention = list.transform((parts, ctx) => {
  const retention: TopicRetention = {};
  for (const part of parts) {
    const [name, text = ''] = part.split('=', 2);
    const topic = RETAINED.find((each) => each === name);
    const ms = parseDuration(text);
    if (topic && ms && ms <= MOST_MS && retention[topic] === undefined) retention[topic] = ms;
    else {
      const message =
        `may name ${RETAINED.join(', ')} at most once each, with a duration of at most ` +
        `${MOST}, such as messages=3d,webhooks=1d, not "${part}"`;
      ctx.addIssue({ code: 'custom', message });
    }
  }
  return retention;
});

/** Returns the retention of the topics that deliveries need until they end, ms by topic. */
export function retentionOfDeliveries({
  messages,
  webhooks,
}: TopicRetention): [topic: string, ms: number][] {
  return Object.entries({ messages, webhooks }).flatMap(([topic, ms]) =>
    ms === undefined ? [] : [[topic, ms]],
  );
}

/**
 * Returns a sentence for each topic that would lose records before their deliveries end.
 * @param windowMs the time in which deliveries are attempted
 * @param whose the setting or destination that has this window
 */
export function retentionProblems(
  retention: TopicRetention,
  windowMs: number,
  whose: string,
): string[] {
  const short = retentionOfDeliveries(retention).filter(([, ms]) => ms < windowMs);
  const least = formatDuration(windowMs);
  return short.map(
    ([topic]) =>
      `WAYPOST_TOPIC_RETENTION: ${topic} must keep at least ${least}, the window of ${whose}`,
  );
}

/**
 * @throws AppError `bad_settings` if deliveries of a destination may last longer than a topic keeps
 *   records
 */
export function requireRetention(
  retention: TopicRetention,
  destinations: readonly { data: Pick<Destination, 'id' | 'retry'> }[],
): void {
  const problems = destinations.flatMap(({ data: { id, retry } }) =>
    retentionProblems(retention, retry?.windowMs ?? 0, `destination ${id}`),
  );
  if (problems.length > 0) throw new AppError('bad_settings', problems.join('\n'));
}
