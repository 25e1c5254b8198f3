import fc from 'fast-check';
import { decodeFetch } from '../../../../shared/kafka/client/patches';
import { type ProduceInput, writeProduce } from '../../../../shared/kafka/protocol/produce-request';
import { ByteWriter, crc32c, murmur2, partitionOf } from '../../../../shared/kafka/protocol/bytes';
import { type FetchedRecord, type OutMessage } from '../../../../shared/kafka/protocol/batch';
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
  responses: { partitions: { messages: Read[]; next?: number }[] }[];
}
interface Read {
  offset: string | number;
  timestamp: string | number;
  key: Buffer | null;
  value: Buffer | null;
  headers: Record<string, Buffer | string>;
  isControlRecord: boolean;
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

/** Returns the batches of a produce request as a broker's fetch response. */
function asFetch(
  topicData: ProduceInput['topicData'],
  batchOf: (messages: readonly OutMessage[]) => Buffer,
): Buffer {
  const parts: Buffer[] = [];
  const int = (bytes: 2 | 4 | 8, of: number) => {
    const buffer = Buffer.alloc(bytes);
    if (bytes === 8) buffer.writeBigInt64BE(BigInt(of));
    else buffer.writeIntBE(of, 0, bytes);
    parts.push(buffer);
  };
  int(4, 0);
  int(2, 0);
  int(4, 0);
  int(4, topicData.length);
  for (const { topic, partitions } of topicData) {
    int(2, topic.length);
    parts.push(Buffer.from(topic));
    int(4, partitions.length);
    for (const { partition, messages } of partitions) {
      int(4, partition);
      int(2, 0);
      for (const offset of [2 ** 40, 2 ** 40, 7]) int(8, offset);
      int(4, 1);
      int(8, 9_007_199_254);
      int(8, 2 ** 41);
      int(4, -1);
      const batch = batchOf(messages);
      int(4, batch.length);
      parts.push(batch);
    }
  }
  return Buffer.concat(parts);
}

/** Returns a written batch, with an offset as a broker sets it. */
function written(messages: readonly OutMessage[], baseOffset: number, attributes = 0): Buffer {
  const buffer = ourRequest(input([{ topic: 't', partitions: [{ partition: 0, messages }] }]));
  const batch = Buffer.from(buffer.subarray(2 + 2 + 4 + 4 + 2 + 1 + 4 + 4 + 4));
  batch.writeBigInt64BE(BigInt(baseOffset), 0);
  batch.writeInt16BE(attributes, 21);
  return batch;
}

const plain = ({ offset, timestamp, key, value, headers, isControlRecord }: Read) => ({
  offset: Number(offset),
  timestamp: Number(timestamp),
  key: key?.toString('hex'),
  value: value?.toString('hex'),
  headers: Object.fromEntries(
    Object.entries(headers).map(([name, bytes]) => [name, bytes.toString()]),
  ),
  isControlRecord,
});

async function readBoth(fetch: Buffer) {
  const [ours, theirs] = (await Promise.all([decodeFetch(fetch), theirDecode(fetch)])) as [
    Response,
    Response,
  ];
  const shape = (response: Response) => ({
    ...response,
    responses: response.responses.map((topic) => ({
      ...topic,
      partitions: topic.partitions.map((part) => ({
        ...part,
        next: undefined,
        messages: part.messages.map(plain),
      })),
    })),
  });
  return { ours: shape(ours), theirs: shape(theirs) };
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
    expect(ours.responses[0]!.partitions[0]!.messages).toHaveLength(
      first + cut === whole.length ? 6 : 3,
    );
  }
});

test('a compressed batch is decoded like in kafkajs', async () => {
  const batch = written(three, 5, 1);
  const records = await compression.lookupCodec(1).compress({ buffer: batch.subarray(61) });
  const compressed = Buffer.concat([batch.subarray(0, 61), records]);
  compressed.writeInt32BE(compressed.length - 12, 8);
  const { ours, theirs } = await readBoth(one(compressed));
  expect(ours).toEqual(theirs);
  expect(ours.responses[0]!.partitions[0]!.messages).toHaveLength(3);
});

test('a timestamp before that of the batch is decoded like in kafkajs', async () => {
  // 0x7f: the timestamp delta as a varlong of one byte, -64.
  const batch = written([{ value: '' }], 5);
  batch[batch.length - 6 + 1] = 0x7f;
  const { ours, theirs } = await readBoth(one(batch));
  expect(ours).toEqual(theirs);
  expect(ours.responses[0]!.partitions[0]!.messages[0]!.timestamp).toBe(NOW - 64);
});

test('a batch in a format from before Kafka 0.11 is refused', async () => {
  const batch = written(three, 5);
  batch[16] = 1;
  await expect(decodeFetch(one(batch))).rejects.toThrow('format 1');
});

test('a batch still gives the next start after compaction removed its last records', async () => {
  const batch = Buffer.from(written(three, 5));
  // Compaction keeps the last offset of a batch: here two further records seem to have followed the
  // three.
  batch.writeInt32BE(4, 23);
  const [read, empty] = [
    await decodeFetch(one(batch)),
    await decodeFetch(one(Buffer.alloc(0))),
  ] as Response[];
  expect(read!.responses[0]!.partitions[0]).toMatchObject({ next: 10 });
  expect(empty!.responses[0]!.partitions[0]).toMatchObject({ next: undefined });
});

test('the headers of a record are decoded once', async () => {
  const response = (await decodeFetch(one(written(three, 5)))) as Response;
  const record = response.responses[0]!.partitions[0]!.messages[0] as unknown as FetchedRecord;
  expect(record.headers).toBe(record.headers);
});

test("each record's header names are read, though the last had the same length", async () => {
  const names = ['user', 'uſer', 'used', 'ſ', 'user', 'us', 'Ã©', 'é'];
  const messages = names.map((name) => ({
    key: null,
    value: null,
    headers: { [name]: name, more: 'x' },
  }));
  const response = (await decodeFetch(one(written(messages, 5)))) as Response;
  const read = response.responses[0]!.partitions[0]!.messages as unknown as FetchedRecord[];
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
