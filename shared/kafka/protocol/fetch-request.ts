import { messageOf } from '../../runtime/errors';
import { type FetchedBatches, readBatches } from './batch';
import { type ByteReader, type ByteWriter } from './bytes';
import { ERROR } from './error-codes';
import { readTopicId, writeTopicId } from './metadata-request';

/**
 * The fetch request (https://kafka.apache.org/protocol). With ids of topics instead of names a
 * broker refuses to read a topic that was made again (KIP-516), and with the epoch of the leader it
 * refuses a reader that does not know of the last election (KIP-320).
 */

export const FETCH = { key: 1, version: 13, flexible: true };

const CONSUMER = -1;
/** Records of open transactions are not returned. */
const READ_COMMITTED = 1;
const UNKNOWN = -1;

export interface FetchPartition {
  partition: number;
  /** epoch of its leader; -1: not compared */
  leaderEpoch: number;
  offset: number;
  maxBytes: number;
}

export interface FetchTopic {
  /** the id of the topic */
  topic: string;
  partitions: FetchPartition[];
}

export interface FetchInput {
  /** longest wait of the broker for `minBytes` */
  maxWaitMs: number;
  minBytes: number;
  maxBytes: number;
  /** the leader names a replica in this rack, if there is one; empty: reads from the leader */
  rack: string;
  /** 0: begins a session, or reads without one */
  sessionId: number;
  /** number of the request in its session; -1: reads without a session */
  sessionEpoch: number;
  topics: FetchTopic[];
  forgotten: { topic: string; partitions: number[] }[];
}

/** Reads without a session: the answer names all partitions that were asked for. */
export const NO_SESSION: Pick<FetchInput, 'sessionId' | 'sessionEpoch' | 'forgotten'> = {
  sessionId: 0,
  sessionEpoch: -1,
  forgotten: [],
};

export interface FetchAnswer {
  /** time in which the broker wants no request on the connection, ms */
  throttleMs: number;
  errorCode: number;
  sessionId: number;
  partitions: FetchedPartition[];
}

/** A partition in a fetch. */
export interface FetchedPartition extends FetchedBatches {
  topic: string;
  partition: number;
  errorCode: number;
  highWatermark: number;
  /** id of the broker to read from instead; -1: this one */
  replica: number;
  /** why the records could not be read, with the error code of a corrupt message */
  damage?: string;
}

export function writeFetch(to: ByteWriter, input: FetchInput): void {
  to.int32(CONSUMER);
  to.int32(input.maxWaitMs);
  to.int32(input.minBytes);
  to.int32(input.maxBytes);
  to.int8(READ_COMMITTED);
  to.int32(input.sessionId);
  to.int32(input.sessionEpoch);
  to.compactArray(input.topics, ({ topic, partitions }) => {
    writeTopicId(to, topic);
    to.compactArray(partitions, ({ partition, leaderEpoch, offset, maxBytes }) => {
      to.int32(partition);
      to.int32(leaderEpoch);
      to.int64(offset);
      to.int32(UNKNOWN); // epoch of the last record: it is compared here
      to.int64(UNKNOWN); // start of the log, for replicas
      to.int32(maxBytes);
      to.noTags();
    });
    to.noTags();
  });
  to.compactArray(input.forgotten, ({ topic, partitions }) => {
    writeTopicId(to, topic);
    to.compactArray(partitions, (partition) => to.int32(partition));
    to.noTags();
  });
  to.compact(input.rack);
  to.noTags();
}

export function readFetch(from: ByteReader): FetchAnswer {
  const throttleMs = from.int32();
  const errorCode = from.int16();
  const sessionId = from.int32();
  const partitions: FetchedPartition[] = [];
  for (let topics = from.uvarint() - 1; topics > 0; topics--) {
    const topic = readTopicId(from);
    for (let left = from.uvarint() - 1; left > 0; left--) {
      partitions.push(readPartition(from, topic));
    }
    from.skipTags();
  }
  return { throttleMs, errorCode, sessionId, partitions };
}

function readPartition(from: ByteReader, topic: string): FetchedPartition {
  const partition = from.int32();
  const errorCode = from.int16();
  const highWatermark = from.int64();
  from.int64(); // last stable offset
  from.int64(); // start of the log
  const aborted = from.compactArray(() => {
    const transaction = { producerId: from.int64(), firstOffset: from.int64() };
    from.skipTags();
    return transaction;
  });
  const replica = from.int32();
  const bytes = from.compactBytes();
  from.skipTags();
  const about = { topic, partition, errorCode, highWatermark, replica };
  try {
    return { ...about, ...readBatches(bytes, aborted) };
  } catch (error) {
    const damage = messageOf(error);
    return { ...about, errorCode: ERROR.corruptMessage, damage, records: [], next: undefined };
  }
}
