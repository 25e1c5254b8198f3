import { formatDuration, parseDuration } from '../model/time';
import { list } from './setting-types';

/** WAYPOST_TOPIC_RETENTION: the retention of the topics that hold nearly all bytes. */

const RETAINED = ['messages', 'webhooks', 'attempts'] as const;

/** ms by topic; a topic without an entry keeps its records for the default time */
export type TopicRetention = Partial<Record<(typeof RETAINED)[number], number>>;

/** Parses `messages=3d,webhooks=1d`. */
export const topicRetention = list.transform((parts, ctx) => {
  const retention: TopicRetention = {};
  for (const part of parts) {
    const [name, text = ''] = part.split('=', 2);
    const topic = RETAINED.find((each) => each === name);
    const ms = parseDuration(text);
    if (topic && ms && retention[topic] === undefined) retention[topic] = ms;
    else {
      const message = `must name ${RETAINED.join(', ')} once each, with a duration such as messages=3d,webhooks=1d, not "${part}"`;
      ctx.addIssue({ code: 'custom', message });
    }
  }
  return retention;
});

/**
 * Returns a sentence for each topic that would lose records before their deliveries end.
 * @param windowMs the time in which deliveries are attempted
 * @param whose what sets that time
 */
export function retentionProblems(retention: TopicRetention, windowMs: number, whose: string): string[] {
  const short = Object.entries(retention).filter(([, ms]) => ms < windowMs);
  const least = formatDuration(windowMs);
  return short.map(
    ([topic]) => `WAYPOST_TOPIC_RETENTION: ${topic} must keep at least ${least}, the window of ${whose}`,
  );
}
