import { type Admin } from 'kafkajs';

const PAUSE_MS = 50;

/** The ends of a topic's partitions, as kafkajs gives them: offsets are decimal text. */
export type TopicEnds = Awaited<ReturnType<Admin['fetchTopicOffsets']>>;

/**
 * The ends of a topic's partitions, once each has a leader: a topic that was just made, or whose leaders are moving, has
 * none for a moment, and kafkajs says so at once.
 * @throws the last refusal, after `deadlineMs`
 */
export async function endsOf(admin: Admin, topic: string, deadlineMs: number): Promise<TopicEnds> {
  const until = Date.now() + deadlineMs;
  for (;;) {
    try {
      return await admin.fetchTopicOffsets(topic);
    } catch (error) {
      if (Date.now() >= until) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}
