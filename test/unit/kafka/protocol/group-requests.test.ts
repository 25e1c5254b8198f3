import fc from 'fast-check';
import { AssignerProtocol } from 'kafkajs';
import { ByteReader, ByteWriter } from '../../../../shared/kafka/protocol/bytes';
import * as ours from '../../../../shared/kafka/protocol/group-requests';
import { cases } from '../../../support/cases';

/** Compares the codecs of a group's member with kafkajs's own. */

interface Encoder {
  buffer: Buffer;
}
type TheirRequest = (input: object) => { apiKey: number; encode(): Promise<Encoder> };
const request = (name: string, version: number) =>
  jest.requireActual<TheirRequest>(
    `kafkajs/src/protocol/requests/${name}/v${String(version)}/request`,
  );
const response = (name: string, version: number) =>
  jest.requireActual<{ decode(raw: Buffer): Promise<object> }>(
    `kafkajs/src/protocol/requests/${name}/v${String(version)}/response`,
  );
const TheirEncoder = jest.requireActual<new () => Writer>('kafkajs/src/protocol/encoder');
interface Writer extends Encoder {
  writeInt16(value: number): Writer;
  writeInt32(value: number): Writer;
  writeInt64(value: number): Writer;
  writeString(value: string | null): Writer;
  writeBytes(value: Buffer): Writer;
  writeArray(values: Writer[]): Writer;
}
const encoder = () => new TheirEncoder();

const text = fc.string({ unit: 'grapheme', maxLength: 30 });
const bytes = fc.uint8Array({ maxLength: 200 }).map((each) => Buffer.from(each));
const number = fc.nat(2 ** 31 - 1);
const offset = fc.integer({ min: -1, max: 2 ** 45 });
const error = fc.constantFrom(0, 3, 22, 25, 27);
const topic = fc.stringMatching(/^[a-z.]{1,12}$/);
const member = { groupId: text, memberId: text, generation: number };

async function written(theirs: TheirRequest, input: object, write: (to: ByteWriter) => void) {
  const to = new ByteWriter();
  write(to);
  const { buffer } = await theirs(input).encode();
  expect(to.take().toString('hex')).toBe(buffer.toString('hex'));
}

test.each([
  ['joinGroup', ours.JOIN],
  ['syncGroup', ours.SYNC],
  ['heartbeat', ours.HEARTBEAT],
  ['leaveGroup', ours.LEAVE],
  ['offsetCommit', ours.COMMIT],
  ['offsetFetch', ours.COMMITTED],
])('%s has the key of kafkajs', (name, { key, version }) => {
  expect(request(name, version)({ topics: [], members: [] }).apiKey).toBe(key);
});

test('a join is written like in kafkajs', () =>
  fc.assert(
    fc.asyncProperty(
      fc.record({
        ...member,
        sessionMs: number,
        rebalanceMs: number,
        protocol: text,
        metadata: bytes,
      }),
      async (join) => {
        const { sessionMs, rebalanceMs, protocol, metadata, ...id } = join;
        const input = {
          ...id,
          sessionTimeout: sessionMs,
          rebalanceTimeout: rebalanceMs,
          protocolType: 'consumer',
          groupProtocols: [{ name: protocol, metadata }],
        };
        await written(request('joinGroup', 5), input, (to) => ours.writeJoin(to, join));
      },
    ),
    { numRuns: cases(100) },
  ));

test('an assignment, a heartbeat and a leave are written like in kafkajs', () =>
  fc.assert(
    fc.asyncProperty(
      fc.record(member),
      fc.array(fc.record({ memberId: text, assignment: bytes }), { maxLength: 4 }),
      async (id, assignments) => {
        const generation = { ...id, generationId: id.generation, groupGenerationId: id.generation };
        const groupAssignment = assignments.map(({ memberId, assignment }) => {
          return { memberId, memberAssignment: assignment };
        });
        await written(request('syncGroup', 3), { ...generation, groupAssignment }, (to) =>
          ours.writeSync(to, id, assignments),
        );
        await written(request('heartbeat', 3), generation, (to) => ours.writeHeartbeat(to, id));
        await written(request('leaveGroup', 2), id, (to) =>
          ours.writeLeave(to, id.groupId, id.memberId),
        );
      },
    ),
    { numRuns: cases(100) },
  ));

/** Partitions, of which those of a topic follow each other. */
const partitions = <T extends object>(fields: { [Name in keyof T]: fc.Arbitrary<T[Name]> }) =>
  fc
    .uniqueArray(fc.tuple(topic, fc.array(fc.record(fields), { minLength: 1, maxLength: 3 })), {
      selector: ([name]) => name,
      maxLength: 3,
    })
    .map((topics) => topics.map(([name, each]) => ({ topic: name, partitions: each })));

test('a commit and a look-up of commits are written like in kafkajs', () =>
  fc.assert(
    fc.asyncProperty(
      fc.record(member),
      partitions({ partition: number, offset, metadata: text }),
      async (id, topics) => {
        const input = { ...id, groupGenerationId: id.generation, topics };
        const flat = topics.flatMap((each) =>
          each.partitions.map((partition) => ({ topic: each.topic, ...partition })),
        );
        await written(request('offsetCommit', 5), { ...input, retentionTime: -1 }, (to) =>
          ours.writeCommit(to, id, flat),
        );
        if (flat.length === 0) return;
        const places = flat.map(({ topic: name, partition }) => {
          return { topic: name, number: partition };
        });
        await written(request('offsetFetch', 4), input, (to) =>
          ours.writeCommitted(to, id.groupId, places),
        );
      },
    ),
    { numRuns: cases(100) },
  ));

test('the answers to a join and an assignment are read like in kafkajs', () =>
  fc.assert(
    fc.asyncProperty(
      fc.record({ ...member, leaderId: text, errorCode: error, assignment: bytes }),
      fc.array(fc.record({ memberId: text, metadata: bytes }), { maxLength: 4 }),
      async ({ generation, leaderId, memberId, errorCode, assignment }, members) => {
        const joined = encoder()
          .writeInt32(0)
          .writeInt16(errorCode)
          .writeInt32(generation)
          .writeString('waypost-cooperative')
          .writeString(leaderId)
          .writeString(memberId)
          .writeArray(
            members.map(({ memberId: id, metadata }) =>
              encoder().writeString(id).writeString(null).writeBytes(metadata),
            ),
          ).buffer;
        const theirs = await response('joinGroup', 5).decode(joined);
        const read = ours.readJoin(new ByteReader(joined));
        expect({ ...read, members: undefined }).toMatchObject({
          errorCode,
          generation,
          leaderId,
          memberId,
        });
        expect(theirs).toMatchObject({
          errorCode: read.errorCode,
          generationId: read.generation,
          leaderId: read.leaderId,
          memberId: read.memberId,
          members: read.members.map((each) => ({
            memberId: each.memberId,
            memberMetadata: each.metadata,
          })),
        });
        const synced = encoder().writeInt32(0).writeInt16(errorCode).writeBytes(assignment).buffer;
        const { assignment: given, ...rest } = ours.readSync(new ByteReader(synced));
        expect(await response('syncGroup', 3).decode(synced)).toMatchObject({
          ...rest,
          memberAssignment: given,
        });
        expect(ours.readErrorCode(new ByteReader(synced))).toBe(errorCode);
      },
    ),
    { numRuns: cases(100) },
  ));

test('the answers to a commit and a look-up of commits are read like in kafkajs', () =>
  fc.assert(
    fc.asyncProperty(
      partitions({ partition: number, offset, metadata: text, errorCode: error }),
      error,
      async (topics, errorCode) => {
        const flat = topics.flatMap((each) =>
          each.partitions.map((partition) => ({ topic: each.topic, ...partition })),
        );
        const of = (each: (typeof flat)[number], isFetch: boolean) => {
          const to = encoder().writeInt32(each.partition);
          if (isFetch) to.writeInt64(each.offset).writeString(each.metadata);
          return to.writeInt16(each.errorCode);
        };
        const all = (isFetch: boolean) =>
          topics.map((each) =>
            encoder()
              .writeString(each.topic)
              .writeArray(each.partitions.map((one) => of({ topic: each.topic, ...one }, isFetch))),
          );
        const commit = encoder().writeInt32(0).writeArray(all(false)).buffer;
        expect(ours.readCommit(new ByteReader(commit))).toEqual(
          flat.map(({ topic: name, partition, errorCode: code }) => {
            return { topic: name, partition, errorCode: code };
          }),
        );
        const committed = encoder()
          .writeInt32(0)
          .writeArray(all(true))
          .writeInt16(errorCode).buffer;
        expect(ours.readCommitted(new ByteReader(committed))).toEqual({
          errorCode,
          partitions: flat,
        });
        const theirs = await response('offsetFetch', 4).decode(committed);
        expect(theirs).toMatchObject({
          errorCode,
          responses: topics.map((each) => ({
            topic: each.topic,
            partitions: each.partitions.map((one) => ({ ...one, offset: String(one.offset) })),
          })),
        });
      },
    ),
    { numRuns: cases(100) },
  ));

test('what members tell each other is written and read like in kafkajs', () =>
  fc.assert(
    fc.property(
      fc.array(topic, { maxLength: 4 }),
      bytes,
      fc.dictionary(topic, fc.array(number, { maxLength: 5 }), { noNullPrototype: true }),
      (topics, userData, assignment) => {
        const { MemberMetadata, MemberAssignment } = AssignerProtocol;
        const subscription = ours.encodeSubscription(topics, userData);
        expect(subscription).toEqual(MemberMetadata.encode({ version: 1, topics, userData }));
        const read = ours.decodeSubscription(new ByteReader(subscription));
        expect(read).toEqual({ topics, userData });
        const given = ours.encodeAssignment(assignment);
        const none = Buffer.alloc(0);
        expect(given).toEqual(MemberAssignment.encode({ version: 1, assignment, userData: none }));
        expect(ours.decodeAssignment(new ByteReader(given))).toEqual(assignment);
        expect(ours.decodeAssignment(new ByteReader(none))).toEqual({});
      },
    ),
    { numRuns: cases(200) },
  ));
