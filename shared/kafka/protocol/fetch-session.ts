/**
 * Keeps one fetch session with a broker (KIP-227). The broker remembers the partitions of the
 * session. A request then names the changed partitions, and a response the partitions with new
 * records. Without a session, both name all partitions.
 *
 * One fetch at a time.
 */

export interface FetchTopic {
  topic: string;
  partitions: FetchPartition[];
}
interface FetchPartition {
  partition: number;
  fetchOffset: string;
  maxBytes: number;
}

/** The part of a fetch request that depends on the session. */
export interface SessionRequest {
  sessionId: number;
  sessionEpoch: number;
  topics: FetchTopic[];
  forgottenTopics: { topic: string; partitions: number[] }[];
}

const LAST_EPOCH = 2 ** 31 - 1;

export class FetchSession {
  #id = 0;
  /**
   * number of the next request in the session; 0 begins a session, and ends the one with this id
   */
  #epoch = 0;
  #refused = false;
  /** the partitions that the broker remembers, by topic and number */
  #known = new Map<string, Map<number, FetchPartition>>();

  /** True if the broker has refused a session, because it has no room for one. */
  get isRefused(): boolean {
    return this.#refused;
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
      forgottenTopics: forgotten.filter(({ partitions }) => partitions.length > 0),
    };
  }

  /**
   * Notes the response to the last request.
   * @returns false if the broker has lost the session: ask again, in a new one
   * @throws if the broker refuses a request without a session
   */
  answered({ errorCode, sessionId }: { errorCode?: number; sessionId?: number }): boolean {
    const begins = this.#epoch === 0;
    if (errorCode) {
      this.reset();
      if (begins) throw new Error(`the broker refuses a fetch with error ${String(errorCode)}`);
      return false;
    }
    if (begins) {
      this.#id = sessionId ?? 0;
      this.#refused = this.#id === 0;
    }
    if (!this.#refused) this.#epoch = this.#epoch === LAST_EPOCH ? 1 : this.#epoch + 1;
    return true;
  }

  /** Begins a new session with the next request, after a request without a response. */
  reset(): void {
    this.#epoch = 0;
  }
}

function isChanged(before: FetchPartition | undefined, now: FetchPartition): boolean {
  return before?.fetchOffset !== now.fetchOffset || before.maxBytes !== now.maxBytes;
}
