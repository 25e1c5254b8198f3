import { type ByteReader, type ByteWriter } from './bytes';
import { type OutMessage, writeBatch } from './batch';

/** The produce request and its response (https://kafka.apache.org/protocol). */

export const PRODUCE = { key: 0, version: 7 };

export interface ProduceInput {
  acks: number;
  /** longest wait of the broker for its followers, ms */
  timeout: number;
  topicData: {
    topic: string;
    partitions: { partition: number; messages: readonly OutMessage[] }[];
  }[];
}

interface ProducedPartition {
  topic: string;
  partition: number;
  /** 0: written and acknowledged */
  errorCode: number;
  /** the broker's timestamp (LogAppendTime), ms since 1970; -1 if the topic keeps the client's */
  appendedAt: number;
}

export interface ProduceResult {
  partitions: ProducedPartition[];
  /** time in which the broker wants no request on the connection, ms */
  throttleMs: number;
}

/** Appends a request outside any transaction. */
export function writeProduce(to: ByteWriter, input: ProduceInput, nowMs: number): void {
  to.string(null); // transactional id
  to.int16(input.acks);
  to.int32(input.timeout);
  to.int32(input.topicData.length);
  for (const { topic, partitions } of input.topicData) {
    to.string(topic);
    to.int32(partitions.length);
    for (const { partition, messages } of partitions) {
      to.int32(partition);
      const sizeAt = to.length;
      to.int32(0);
      writeBatch(to, messages, nowMs);
      to.int32At(to.length - sizeAt - 4, sizeAt);
    }
  }
}

/** Reads the result of each partition. */
export function readProduce(from: ByteReader): ProduceResult {
  const partitions: ProducedPartition[] = [];
  for (let topics = from.int32(); topics > 0; topics--) {
    const topic = from.string();
    for (let left = from.int32(); left > 0; left--) {
      const partition = from.int32();
      const errorCode = from.int16();
      from.int64(); // base offset
      const appendedAt = from.int64();
      from.int64(); // start of the log
      partitions.push({ topic, partition, errorCode, appendedAt });
    }
  }
  return { partitions, throttleMs: from.int32() };
}
