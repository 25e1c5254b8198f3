import { KafkaError } from '../protocol/error-codes';
import { type FetchInput, type FetchPartition, type FetchTopic } from '../protocol/fetch-request';

/**
 * Keeps one fetch session with a broker (KIP-227). The broker remembers the partitions of the
 * session. A request then names the changed partitions, and a response the partitions with new
 * records. Without a session, both name all partitions.
 *
 * One fetch at a time.
 */

/** The part of a fetch request that depends on the session. */
export type SessionRequest = Pick<
  FetchInput,
  'sessionId' | 'sessionEpoch' | 'topics' | 'forgotten'
>;

const LAST_EPOCH = 2 ** 31 - 1;

export class FetchSession {
  #id = 0;
  /**
   * number of the next request in the session; 0 begins a session, and ends the one with this id
   */
  #epoch = 0;
  /** the partitions that the broker remembers, by topic and number */
  #known = new Map<string, Map<number, FetchPartition>>();

  /** True if the broker remembers the partitions. */
  get isKept(): boolean {
    return this.#epoch > 0;
  }

  /** Returns the next request. @param topics all partitions to fetch */
  next(topics: readonly FetchTopic[]): SessionRequest {
    if (this.#epoch === 0) this.#known.clear();
    const before = this.#known;
    this.#known = new Map(
      topics.map(({ topic, partitions }) => [
        topic,
        new Map(partitions.map((each) => [each.partition, each])),
      ]),
    );
    const changed = topics.map(({ topic, partitions }) => ({
      topic,
      partitions: partitions.filter((each) =>
        isChanged(before.get(topic)?.get(each.partition), each),
      ),
    }));
    const forgotten = [...before].map(([topic, partitions]) => ({
      topic,
      partitions: [...partitions.keys()].filter((number) => !this.#known.get(topic)?.has(number)),
    }));
    return {
      sessionId: this.#id,
      sessionEpoch: this.#epoch,
      topics: changed.filter(({ partitions }) => partitions.length > 0),
      forgotten: forgotten.filter(({ partitions }) => partitions.length > 0),
    };
  }

  /**
   * Notes the answer to the last request.
   * @returns false if the broker has lost the session: ask again, in a new one
   * @throws KafkaError if the broker refuses a request that begins a session
   */
  answered({ errorCode, sessionId }: { errorCode: number; sessionId: number }): boolean {
    const begins = this.#epoch === 0;
    if (errorCode !== 0) {
      this.reset();
      if (begins) throw new KafkaError('a fetch', errorCode);
      return false;
    }
    if (begins) this.#id = sessionId;
    // A broker that has no room for a session gives it no id, and each request names all.
    if (this.#id !== 0) this.#epoch = this.#epoch === LAST_EPOCH ? 1 : this.#epoch + 1;
    return true;
  }

  /** Begins a new session with the next request, after a request without an answer. */
  reset(): void {
    this.#epoch = 0;
  }
}

function isChanged(before: FetchPartition | undefined, now: FetchPartition): boolean {
  return (
    before?.offset !== now.offset ||
    before.maxBytes !== now.maxBytes ||
    before.leaderEpoch !== now.leaderEpoch
  );
}
