import { ByteReader, ByteWriter } from './bytes';
import { type OutMessage, writeBatch } from './batch';

/** The produce request and its response, versions 3 to 7 (https://kafka.apache.org/protocol). */

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
  /** time during which kafkajs sends no request on the connection, ms */
  clientSideThrottleTime: number;
}

/** From this version on, each partition carries the start of its log. */
const LOG_START_FROM = 5;
/** From this version on, the broker leaves it to the client to wait out a quota (KIP-219). */
const CLIENT_THROTTLES_FROM = 6;

const writer = new ByteWriter();

/** Writes a request outside any transaction, byte for byte as kafkajs does. */
export function encodeProduce(input: ProduceInput, nowMs: number): { buf: Buffer; buffer: Buffer } {
  writer.length = 0;
  writer.string(null); // transactional id
  writer.int16(input.acks);
  writer.int32(input.timeout);
  writer.int32(input.topicData.length);
  for (const { topic, partitions } of input.topicData) {
    writer.string(topic);
    writer.int32(partitions.length);
    for (const { partition, messages } of partitions) {
      writer.int32(partition);
      const sizeAt = writer.length;
      writer.int32(0);
      writeBatch(writer, messages, nowMs);
      writer.int32At(writer.length - sizeAt - 4, sizeAt);
    }
  }
  const buffer = writer.take();
  return { buf: buffer, buffer };
}

/**
 * Reads the result of each partition: kafkajs throws the first error, and so hides the partitions
 * that were written.
 */
export function decodeProduce(raw: Buffer, version: number): ProduceResult {
  const reader = new ByteReader(raw);
  const partitions: ProducedPartition[] = [];
  for (let topics = reader.int32(); topics > 0; topics--) {
    const topic = reader.string();
    for (let left = reader.int32(); left > 0; left--) {
      const partition = reader.int32();
      const errorCode = reader.int16();
      reader.int64(); // base offset
      const appendedAt = reader.int64();
      if (version >= LOG_START_FROM) reader.int64();
      partitions.push({ topic, partition, errorCode, appendedAt });
    }
  }
  const throttleMs = reader.int32();
  return { partitions, clientSideThrottleTime: version >= CLIENT_THROTTLES_FROM ? throttleMs : 0 };
}
