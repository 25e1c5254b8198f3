import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { type ProduceInput, writeProduce } from '../../../../shared/kafka/protocol/produce-request';
import {
  ByteReader,
  ByteWriter,
  crc32c,
  murmur2,
  partitionOf,
} from '../../../../shared/kafka/protocol/bytes';
import {
  type FetchedRecord,
  type OutMessage,
  readBatches,
} from '../../../../shared/kafka/protocol/batch';
import { readFetch, writeFetch } from '../../../../shared/kafka/protocol/fetch-request';
import { ERROR } from '../../../../shared/kafka/protocol/error-codes';
import { cases } from '../../../support/cases';

/** Compares the codec with kafkajs's own: both must read and write the same. */

/* eslint-disable @typescript-eslint/no-require-imports */
const theirRequest = require('kafkajs/src/protocol/requests/produce/v7/request') as (
  input: ProduceInput,
) => {
  encode(): Promise<{ buffer: Buffer }>;
};
const theirDecode = (
  require('kafkajs/src/protocol/requests/fetch/v11/response') as {
    decode(raw: Buffer): Promise<Response>;
  }
).decode;
const theirMurmur2 = require('kafkajs/src/producer/partitioners/default/murmur2') as (
  key: Buffer,
) => number;
const theirCrc32c = require('kafkajs/src/protocol/recordBatch/crc32C') as (bytes: Buffer) => number;
const compression = require('kafkajs/src/protocol/message/compression') as {
  lookupCodec(type: number): { compress(encoder: { buffer: Buffer }): Promise<Buffer> };
};
/* eslint-enable @typescript-eslint/no-require-imports */

interface Response {
  responses: { topicName: string; partitions: { partition: number; messages: Read[] }[] }[];
}
interface Read {
  offset: string | number;
  timestamp: string | number;
  key: Buffer | null;
  value: Buffer | null;
  headers: Record<string, Buffer | string>;
}

const NOW = 1_790_000_000_000;
const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.string({ unit: 'grapheme-ascii', maxLength: 300 }),
);
const value = fc.oneof(
  fc.constant(null),
  text,
  fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.from(bytes)),
);
const message = fc.record({
  key: fc.option(text),
  value,
  headers: fc.dictionary(
    fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
      .filter(
        (name) => !(name in {}),
      ) /* kafkajs takes inherited properties of an object for headers */,
    text,
    { maxKeys: 12 },
  ),
}) as fc.Arbitrary<OutMessage>;
const topics = fc.array(
  fc.record({
    topic: fc.stringMatching(/^[a-z.]{1,20}$/),
    partitions: fc.array(
      fc.record({
        partition: fc.nat(100),
        messages: fc.array(message, { minLength: 1, maxLength: 12 }),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  }),
  { minLength: 1, maxLength: 2 },
);

const input = (topicData: ProduceInput['topicData']): ProduceInput => ({
  acks: -1,
  timeout: 30_000,
  topicData,
});

function ourRequest(of: ProduceInput): Buffer {
  const writer = new ByteWriter();
  writeProduce(writer, of, NOW);
  return writer.take();
}

beforeEach(() => jest.spyOn(Date, 'now').mockReturnValue(NOW));
afterEach(() => jest.restoreAllMocks());

/** A broker's answer to a fetch, in the version of kafkajs and in ours. */
interface Fetch {
  theirs: Buffer;
  ours: Buffer;
}

/** Returns the batches of a produce request as a broker's answers to a fetch. */
function asFetch(
  topicData: ProduceInput['topicData'],
  batchOf: (messages: readonly OutMessage[]) => Buffer,
): Fetch {
  const [theirs, ours] = [new ByteWriter(), new ByteWriter()];
  for (const to of [theirs, ours]) {
    to.int32(0);
    to.int16(0);
    to.int32(4);
  }
  theirs.int32(topicData.length);
  ours.uvarint(topicData.length + 1);
  for (const { topic, partitions } of topicData) {
    theirs.string(topic);
    theirs.int32(partitions.length);
    ours.raw(idOf(topic), 16);
    ours.uvarint(partitions.length + 1);
    for (const { partition, messages } of partitions) {
      const batch = batchOf(messages);
      for (const to of [theirs, ours]) {
        to.int32(partition);
        to.int16(0);
        for (const offset of [2 ** 40, 2 ** 40, 7]) to.int64(offset);
      }
      theirs.int32(1);
      ours.uvarint(2);
      for (const to of [theirs, ours]) {
        to.int64(9_007_199_254);
        to.int64(2 ** 41);
      }
      ours.noTags();
      for (const to of [theirs, ours]) to.int32(-1);
      theirs.bytes(batch);
      ours.compact(batch);
      ours.noTags();
    }
    ours.noTags();
  }
  ours.noTags();
  return { theirs: theirs.take(), ours: ours.take() };
}

/** Our version of the fetch names topics by ids. */
function idOf(topic: string): Buffer {
  return Buffer.from(topic.padEnd(16));
}

function topicOf(id: string): string {
  return Buffer.from(id, 'hex').toString().trimEnd();
}

/** Returns a written batch, with an offset as a broker sets it. */
function written(messages: readonly OutMessage[], baseOffset: number, attributes = 0): Buffer {
  const buffer = ourRequest(input([{ topic: 't', partitions: [{ partition: 0, messages }] }]));
  const batch = Buffer.from(buffer.subarray(2 + 2 + 4 + 4 + 2 + 1 + 4 + 4 + 4));
  batch.writeBigInt64BE(BigInt(baseOffset), 0);
  batch.writeInt16BE(attributes, 21);
  return checked(batch);
}

/** Corrects the length and the checksum of a batch. */
function checked(batch: Buffer): Buffer {
  batch.writeInt32BE(batch.length - 12, 8);
  batch.writeUInt32BE(crc32c(batch, 21), 17);
  return batch;
}

const plain = ({ offset, timestamp, key, value, headers }: Read) => ({
  offset: Number(offset),
  timestamp: Number(timestamp),
  key: key?.toString('hex'),
  value: value?.toString('hex'),
  headers: Object.fromEntries(
    Object.entries(headers).map(([name, bytes]) => [name, bytes.toString()]),
  ),
});

async function readBoth(fetch: Fetch) {
  const { responses } = await theirDecode(fetch.theirs);
  const theirs = responses.flatMap(({ topicName, partitions }) =>
    partitions.map(({ partition, messages }) => {
      return { topic: topicName, partition, records: messages.map(plain) };
    }),
  );
  const ours = partitionsOf(fetch).map(({ topic, partition, records }) => {
    return { topic, partition, records: records.map(plain) };
  });
  return { ours, theirs };
}

function partitionsOf({ ours }: Fetch) {
  return readFetch(new ByteReader(ours)).partitions.map((each) => {
    return { ...each, topic: topicOf(each.topic) };
  });
}

test('a produce request equals that of kafkajs byte for byte', async () => {
  await fc.assert(
    fc.asyncProperty(topics, async (topicData) => {
      const theirs = await theirRequest(input(topicData)).encode();
      expect(ourRequest(input(topicData)).equals(theirs.buffer)).toBe(true);
    }),
    { numRuns: cases(60) },
  );
});

test('a fetch is decoded like in kafkajs', async () => {
  await fc.assert(
    fc.asyncProperty(
      topics,
      fc.nat(2 ** 31),
      fc.constantFrom(0, 0x8, 0x10, 0x20),
      async (topicData, offset, bits) => {
        const { ours, theirs } = await readBoth(
          asFetch(topicData, (messages) => written(messages, offset, bits)),
        );
        expect(ours).toEqual(theirs);
      },
    ),
    { numRuns: cases(60) },
  );
});

const three: OutMessage[] = ['a', 'b', 'c'].map((text) => ({
  key: null,
  value: text.repeat(50),
  headers: { text },
}));
const one = (batch: Buffer) =>
  asFetch([{ topic: 't', partitions: [{ partition: 0, messages: three }] }], () => batch);

test('a batch of more records than a one-byte varint holds equals that of kafkajs', async () => {
  const many: OutMessage[] = Array.from({ length: 300 }, (_, i) => ({
    key: `k${String(i)}`,
    value: 'v'.repeat(i),
  }));
  const topicData = [{ topic: 't', partitions: [{ partition: 0, messages: many }] }];
  const theirs = await theirRequest(input(topicData)).encode();
  expect(ourRequest(input(topicData)).equals(theirs.buffer)).toBe(true);
  const read = await readBoth(asFetch(topicData, (messages) => written(messages, 5)));
  expect(read.ours).toEqual(read.theirs);
});

test('an incomplete last batch is left out, wherever it is cut off', async () => {
  const whole = Buffer.concat([written(three, 5), written(three, 2 ** 40)]);
  const first = written(three, 5).length;
  for (const cut of [0, 1, 11, 12, 17, 60, 61, 62, 100, whole.length - first]) {
    const { ours, theirs } = await readBoth(one(whole.subarray(0, first + cut)));
    expect(ours).toEqual(theirs);
    expect(ours[0]!.records).toHaveLength(first + cut === whole.length ? 6 : 3);
  }
});

test('a compressed batch is decoded like in kafkajs', async () => {
  const batch = written(three, 5, 1);
  const records = await compression.lookupCodec(1).compress({ buffer: batch.subarray(61) });
  const compressed = Buffer.concat([batch.subarray(0, 61), records]);
  const { ours, theirs } = await readBoth(one(checked(compressed)));
  expect(ours).toEqual(theirs);
  expect(ours[0]!.records).toHaveLength(3);
});

test('a timestamp before that of the batch is decoded like in kafkajs', async () => {
  // 0x7f: the timestamp delta as a varlong of one byte, -64.
  const batch = written([{ value: '' }], 5);
  batch[batch.length - 6 + 1] = 0x7f;
  const { ours, theirs } = await readBoth(one(checked(batch)));
  expect(ours).toEqual(theirs);
  expect(ours[0]!.records[0]!.timestamp).toBe(NOW - 64);
});

test.each<[string, (batch: Buffer) => void, string]>([
  ['in a format from before Kafka 0.11', (batch) => (batch[16] = 1), 'format 1'],
  ['that differs from its checksum', (batch) => (batch[70]! ^= 1), 'checksum'],
  ['whose length ends before its head', (batch) => batch.writeInt32BE(-12, 8), 'shorter'],
  [
    'of a codec that is not known',
    (batch) => {
      batch.writeInt16BE(4, 21);
      checked(batch);
    },
    'codec',
  ],
  [
    'with fewer records than it says',
    (batch) => {
      batch.writeInt32BE(2 ** 31 - 1, 57);
      checked(batch);
    },
    'fewer records',
  ],
  [
    'with a record that ends before it begins',
    (batch) => {
      batch[61] = 1;
      checked(batch);
    },
    'fewer records',
  ],
])('a batch %s is an error of its partition alone', (_, damage, reason) => {
  const [whole, broken] = [written(three, 5), written(three, 5)];
  damage(broken);
  const batches = [broken, whole];
  const topicData = [0, 1].map((partition) => ({ partition, messages: three }));
  const [first, second] = partitionsOf(
    asFetch([{ topic: 't', partitions: topicData }], () => batches.shift()!),
  );
  expect(first).toMatchObject({ errorCode: ERROR.corruptMessage, records: [], next: undefined });
  expect(first!.damage).toContain(reason);
  expect(second!.records).toHaveLength(3);
});

test('a batch that grows by a thousand is an error, and takes little memory', () => {
  const head = written(three, 5, 1).subarray(0, 61);
  const bomb = checked(Buffer.concat([head, gzipSync(Buffer.alloc(65 * 1024 * 1024))]));
  expect(bomb.length).toBeLessThan(100_000);
  expect(() => readBatches(bomb)).toThrow(/larger than/);
});

test('a record that promises headers without end has those that are there', () => {
  const batch = written([{ value: 'v', headers: { a: 'b' } }], 0);
  // The last five bytes are the number of headers, and one header: 64 headers, with one byte.
  batch[batch.length - 5] = 0x7e;
  const [record] = readBatches(checked(batch)).records;
  expect(Object.entries(record!.headers)).toEqual([['a', 'b']]);
});

test('a batch still gives the next start after compaction removed its last records', () => {
  const batch = Buffer.from(written(three, 5));
  // Compaction keeps the last offset of a batch: here two further records seem to have followed the
  // three.
  batch.writeInt32BE(4, 23);
  expect(partitionsOf(one(checked(batch)))[0]).toMatchObject({ next: 10 });
  expect(partitionsOf(one(Buffer.alloc(0)))[0]).toMatchObject({ next: undefined });
});

describe('transactions', () => {
  const TRANSACTIONAL = 0x10;
  const CONTROL = 0x20;

  function of(producer: number, offset: number, attributes: number): Buffer {
    const batch = written(three, offset, attributes);
    batch.writeBigInt64BE(BigInt(producer), 43);
    return checked(batch);
  }

  test('the records of aborted ones, and their ends, are hidden', () => {
    const batches = Buffer.concat([
      of(1, 0, TRANSACTIONAL),
      of(2, 3, TRANSACTIONAL),
      of(1, 6, TRANSACTIONAL | CONTROL),
      of(1, 9, TRANSACTIONAL),
      of(-1, 12, 0),
    ]);
    const { records } = readBatches(batches, [{ producerId: 1, firstOffset: 0 }]);
    expect(records.filter(({ isHidden }) => !isHidden).map(({ offset }) => offset)).toEqual([
      3, 4, 5, 9, 10, 11, 12, 13, 14,
    ]);
  });
});

test('a record has the epoch of its leader', () => {
  const batch = written(three, 5);
  batch.writeInt32BE(7, 12);
  expect(readBatches(batch).records.map(({ epoch }) => epoch)).toEqual([7, 7, 7]);
});

test('the headers of a record are decoded once', () => {
  const [record] = partitionsOf(one(written(three, 5)))[0]!.records;
  expect(record!.headers).toBe(record!.headers);
});

test('a fetch names topics by their ids, and the epochs of leaders', () => {
  const id = '00112233445566778899aabbccddeeff';
  const to = new ByteWriter();
  const partitions = [{ partition: 3, leaderEpoch: 4, offset: 2 ** 40, maxBytes: 5 }];
  const input = {
    maxWaitMs: 100,
    minBytes: 1,
    maxBytes: 1_000,
    rack: 'a',
    sessionId: 6,
    sessionEpoch: 7,
    topics: [{ topic: id, partitions }],
    forgotten: [{ topic: id, partitions: [8] }],
  };
  writeFetch(to, input);
  expect(to.take().toString('hex')).toBe(
    [
      'ffffffff' + '00000064' + '00000001' + '000003e8' + '01' + '00000006' + '00000007',
      // One topic with one partition: its leader's epoch, its offset, no epoch of a record.
      '02' + id + '02' + '00000003' + '00000004' + '0000010000000000' + 'ffffffff',
      'ffffffffffffffff' + '00000005' + '00' + '00',
      '02' + id + '02' + '00000008' + '00',
      '0261' + '00',
    ].join(''),
  );
});

test("each record's header names are read, though the last had the same length", () => {
  const names = ['user', 'uſer', 'used', 'ſ', 'user', 'us', 'Ã©', 'é'];
  const messages = names.map((name) => ({
    key: null,
    value: null,
    headers: { [name]: name, more: 'x' },
  }));
  const read: FetchedRecord[] = partitionsOf(one(written(messages, 5)))[0]!.records;
  expect(read.map(({ headers }) => headers)).toEqual(
    names.map((name) => ({ [name]: name, more: 'x' })),
  );
});

test('murmur2 and the checksum give the same results as in kafkajs', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 70 }), (bytes) => {
      const key = Buffer.from(bytes);
      expect(murmur2(key)).toBe(theirMurmur2(key));
      expect(crc32c(key)).toBe(theirCrc32c(key));
    }),
    { numRuns: cases(1_000) },
  );
});

test('a key goes to the same partition as with the Java client', () => {
  // murmur2 of "21" is -973932308.
  expect(partitionOf('21', 12)).toBe((-973_932_308 & 0x7fffffff) % 12);
});
