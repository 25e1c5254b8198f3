import { type Batch } from 'kafkajs';
import { ByteReader, ByteWriter } from './bytes';
import { FetchPace } from './fetch-pace';
import { type FetchedRecord, type OutMessage, readBatches, writeBatch } from './records';

/**
 * Puts this codec in the place of kafkajs's for the two requests that carry records. kafkajs makes a 512-byte buffer for each
 * record and each header that it writes, and an object, three BigInts and a buffer for each header that it reads: half
 * of what a delivery costs. It is replaced where it looks its requests up, so that nothing else of it changes; the
 * version of kafkajs is pinned, and what is written and read is compared with its own in tests
 * (docs/decisions/0009-record-codec.md).
 */

interface Protocol<In> {
  request: { encode(): Promise<unknown> };
  response: { decode(raw: Buffer): Promise<unknown>; parse(data: unknown): Promise<unknown> };
  input?: In;
}
interface Lookup<In> {
  protocol(by: { version: number }): (input: In) => Protocol<In>;
}
interface Codec {
  decompress(buffer: Buffer): Promise<Buffer>;
}

/** The input of kafkajs's produce request. */
export interface ProduceInput {
  transactionalId?: string | null;
  acks: number;
  timeout: number;
  topicData: { topic: string; partitions: { partition: number; messages: OutMessage[] }[] }[];
}

interface Broker {
  fetch(request: { maxWaitTime: number }): Promise<unknown>;
}

/** All versions from the first to the last that kafkajs knows have this form. */
const PRODUCE_FROM = 3;
/** The only version that kafkajs speaks with brokers of Kafka 2.3 and later. */
const FETCH = 11;

/* eslint-disable @typescript-eslint/no-require-imports -- these parts of kafkajs have no types and no other name */
const produce = require('kafkajs/src/protocol/requests/produce') as Lookup<ProduceInput>;
const fetch = require('kafkajs/src/protocol/requests/fetch') as Lookup<unknown>;
const brokers = require('kafkajs/src/broker') as { prototype: Broker };
const compression = require('kafkajs/src/protocol/message/compression') as {
  lookupCodecByAttributes(attributes: number): Codec | null;
};
/* eslint-enable @typescript-eslint/no-require-imports */

const FETCH_SPACE_MS = 10;
/** kafkajs has a Broker for each consumer and node, and one fetch at a time by each. */
const paces = new WeakMap<Broker, FetchPace>();

async function waitForTurn(broker: Broker): Promise<void> {
  let pace = paces.get(broker);
  if (!pace) paces.set(broker, (pace = new FetchPace(FETCH_SPACE_MS)));
  const waitMs = pace.wait(performance.now());
  if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
}

let installed = false;

/** The records of a batch: what this codec made of them. */
export function fetchedRecords(batch: Batch): FetchedRecord[] {
  return batch.messages as unknown as FetchedRecord[];
}

/** Once for the process. */
export function installCodec(): void {
  if (installed) return;
  installed = true;
  const produceOf = produce.protocol.bind(produce);
  produce.protocol = ({ version }) => {
    const original = produceOf({ version });
    if (version < PRODUCE_FROM) return original;
    return (input) => {
      const made = original(input);
      made.request.encode = () => Promise.resolve(encodeProduce(input, Date.now()));
      return made;
    };
  };
  const fetchOf = fetch.protocol.bind(fetch);
  fetch.protocol = ({ version }) => {
    const original = fetchOf({ version });
    if (version !== FETCH) return original;
    return (input) => {
      const made = original(input);
      return { ...made, response: { decode: decodeFetch, parse: (data) => made.response.parse(data) } };
    };
  };
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with its own `this` below
  const { fetch: send } = brokers.prototype;
  brokers.prototype.fetch = async function (request) {
    // One that does not wait for records is not part of a loop.
    if (request.maxWaitTime > 0) await waitForTurn(this);
    return send.call(this, request);
  };
}

const writer = new ByteWriter();

/** As kafkajs's own encoder, as far as its caller looks. */
export function encodeProduce(input: ProduceInput, nowMs: number): { buf: Buffer; buffer: Buffer } {
  writer.length = 0;
  writer.string(input.transactionalId ?? null);
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
 * Decodes as kafkajs does: numbers that it keeps as text stay text, but for offset and time of a record. `next` of a
 * partition is added (see `FetchedBatches`).
 */
export async function decodeFetch(raw: Buffer): Promise<unknown> {
  const reader = new ByteReader(raw);
  const clientSideThrottleTime = reader.int32();
  const errorCode = reader.int16();
  const sessionId = reader.int32();
  const responses: unknown[] = [];
  for (let topics = reader.int32(); topics > 0; topics--) {
    const topicName = reader.string();
    const partitions: unknown[] = [];
    for (let count = reader.int32(); count > 0; count--) partitions.push(await decodePartition(reader));
    responses.push({ topicName, partitions });
  }
  return { throttleTime: 0, clientSideThrottleTime, errorCode, sessionId, responses };
}

async function decodePartition(reader: ByteReader): Promise<unknown> {
  const partition = reader.int32();
  const errorCode = reader.int16();
  const highWatermark = String(reader.int64());
  const lastStableOffset = String(reader.int64());
  const lastStartOffset = String(reader.int64());
  const abortedTransactions: unknown[] = [];
  for (let left = reader.int32(); left > 0; left--) {
    abortedTransactions.push({ producerId: String(reader.int64()), firstOffset: String(reader.int64()) });
  }
  const preferredReadReplica = reader.int32();
  const size = Math.max(0, reader.int32());
  const { records, next } = await readBatches(reader.buffer.subarray(reader.at, (reader.at += size)), decompress);
  return {
    partition,
    errorCode,
    highWatermark,
    lastStableOffset,
    lastStartOffset,
    abortedTransactions,
    preferredReadReplica,
    messages: records,
    next,
  };
}

function decompress(attributes: number, bytes: Buffer): Promise<Buffer> {
  const codec = compression.lookupCodecByAttributes(attributes);
  return codec ? codec.decompress(bytes) : Promise.resolve(bytes);
}
