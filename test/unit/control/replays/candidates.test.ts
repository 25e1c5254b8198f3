import {
  type Candidate,
  candidateOf,
  deadDelivery,
  type KnownDelivery,
  replayNumber,
  replayRecords,
} from '../../../../services/control/replays/candidates';
import { type Scope } from '../../../../services/control/replays/job';
import { type Destination, type Source } from '../../../../shared/model/config';
import {
  decodeDelivery,
  type Delivery,
  deliveryId,
  encodeDelivery,
} from '../../../../shared/model/delivery';
import { messageHeaders } from '../../../../shared/model/message';
import { type InRecord } from '../../../../shared/kafka/port';
import { START } from '../../../support/events';
import { aSource } from '../../../support/fakes';
import { aDelivery, aDestination, aRecord } from '../../../support/factories';
import { FORMAT_HEADER } from '../../../../shared/model/record-format';

const DELIVERY = aDelivery({
  userId: 'kim',
  expiresAt: START + 1_000,
  attempt: 3,
  hop: 4,
  excludedUrls: ['abc'],
  notBefore: START + 5,
  final: true,
  reason: 'window_closed',
  error: 'timeout: no answer',
});
const SCOPE: Scope = {
  destination: 'dst_1',
  origin: 'dead_letters',
  from: null,
  to: START + 10_000,
  status: null,
  type: null,
  includeDelivered: false,
  onlyFailedUrls: false,
  reason: null,
};
const DESTINATION = aDestination();
const config = (source: Source = aSource(), destination: Destination = DESTINATION) => ({
  source: (id: string) => (source.id === id ? { version: 1, data: source } : undefined),
  destination: (id: string) =>
    destination.id === id ? { version: 1, data: destination } : undefined,
});
const inRecord = (topic: string, headers: Record<string, string>, value: string): InRecord =>
  aRecord({
    topic,
    partition: 2,
    offset: 7,
    key: Buffer.from('dst_1:3'),
    value: Buffer.from(value),
    headers,
  });
const letter = (over: Partial<Delivery> = {}) =>
  inRecord('webhooks.dead', encodeDelivery({ ...DELIVERY, ...over }), '{}');
const call = (over: object = {}, acceptedAtMs = START) => {
  const message = {
    type: 'track' as const,
    messageId: 'msg-1',
    timestamp: 'then',
    userId: 'kim',
    event: 'Order',
    ...over,
  };
  const headers = messageHeaders('src_1', message, {
    acceptedAtMs,
    traceparent: DELIVERY.traceparent,
  });
  return inRecord('messages', headers, JSON.stringify(message));
};

describe('dead letters', () => {
  test.each<[string, InRecord, Partial<Scope>, boolean]>([
    ['a dead letter of the destination', letter(), {}, true],
    ['no dead letter of another destination', letter({ destinationId: 'dst_2' }), {}, false],
    ['a dead letter of the type', letter(), { type: 'track' }, true],
    ['no dead letter of another type', letter(), { type: 'page' }, false],
    ['a dead letter from the start of the span', letter(), { from: START }, true],
    ['no dead letter from before the span', letter(), { from: START + 1 }, false],
    ['no dead letter from the end of the span, which is exclusive', letter(), { to: START }, false],
    ['no test send', letter({ test: true }), {}, false],
    ['no unreadable record', inRecord('webhooks.dead', { format: FORMAT_HEADER }, 'x'), {}, false],
  ])('a replay of dead letters selects %s (%#)', (_, record, over, taken) => {
    expect(candidateOf(record, { ...SCOPE, ...over }, config()) !== undefined).toBe(taken);
  });
});

test('a replay ends at a record of a newer format, which it must not leave out', () => {
  const record = inRecord('webhooks.dead', { ...encodeDelivery(DELIVERY), format: '9' }, '{}');
  expect(() => candidateOf(record, SCOPE, config())).toThrow(
    /partition 2, offset 7.*format 9.*Upgrade/,
  );
});

describe('messages', () => {
  const scope: Scope = { ...SCOPE, origin: 'messages' };
  test.each<[string, InRecord, ReturnType<typeof config>, boolean]>([
    ['a message for the destination', call(), config(), true],
    [
      'no message that the caller excludes',
      call({ integrations: { All: false } }),
      config(),
      false,
    ],
    [
      'a message that the caller includes by name',
      call({ integrations: { All: false, Webhooks: true } }),
      config(),
      true,
    ],
    [
      'no message of an unwanted type',
      call(),
      config(undefined, { ...DESTINATION, types: ['page'] }),
      false,
    ],
    [
      'no message of a source without a connection',
      call(),
      config(undefined, { ...DESTINATION, sources: [] }),
      false,
    ],
    ['no message of a source that is off', call(), config(aSource({ enabled: false })), false],
    ['no message of a deleted source', call(), config(aSource({ id: 'src_9' })), false],
    ['no unreadable message', inRecord('messages', call().headers as never, 'x'), config(), false],
    ['no message after the span', call({}, START + 10_000), config(), false],
  ])('a replay of messages selects %s (%#)', (_, record, view, taken) => {
    expect(candidateOf(record, scope, view) !== undefined).toBe(taken);
  });

  test('a candidate from a message is the delivery of the router, with its body', () => {
    const candidate = candidateOf(call(), scope, config())!;
    expect(candidate.delivery.id).toBe(deliveryId('src_1', 'msg-1', 'dst_1'));
    expect(candidate.key).toMatch(/^dst_1:\d$/);
    expect(JSON.parse((candidate.content as Buffer).toString())).toMatchObject({
      version: 1,
      type: 'track',
      event: 'Order',
    });
  });
});

describe('replay numbers', () => {
  const dead = deadDelivery(letter())!;
  const deadTwice = deadDelivery(letter({ replay: 1 }))!;
  const message = candidateOf(call(), { ...SCOPE, origin: 'messages' }, config())!;
  const known = (
    status: KnownDelivery['status'],
    replay = 0,
    reason: string | null = null,
  ): KnownDelivery => ({
    status,
    replay,
    reason,
  });
  test.each<[string, Candidate, KnownDelivery | undefined, Partial<Scope>, number | undefined]>([
    ['a dead letter', dead, known('dead'), {}, 1],
    ['a dead letter that the history does not know', dead, undefined, {}, 1],
    ['a dead letter that the history has not read yet', dead, known('retrying'), {}, 1],
    ['a dead letter delivered since', dead, known('delivered'), {}, undefined],
    [
      'a requested dead letter delivered since',
      dead,
      known('delivered'),
      { includeDelivered: true },
      1,
    ],
    ['a dead letter whose replay is in progress', dead, known('waiting', 1), {}, undefined],
    ['the old dead letter of a replay with a new one', dead, known('dead', 1), {}, undefined],
    ['the new dead letter of a replay', deadTwice, known('dead', 1), {}, 2],
    [
      'a dead letter with another status than the requested one',
      dead,
      known('cancelled'),
      { status: 'dead' },
      undefined,
    ],
    ['a dead letter with the requested status', dead, known('dead'), { status: 'dead' }, 1],
    ['a dead letter with the requested reason', dead, undefined, { reason: 'window_closed' }, 1],
    [
      'a dead letter with another reason than the requested one',
      dead,
      known('dead', 0, 'rejected'),
      { reason: 'rejected' },
      undefined,
    ],
    [
      'a message that ended for the requested reason',
      message,
      known('cancelled', 0, 'destination_disabled'),
      { origin: 'messages', reason: 'destination_disabled' },
      1,
    ],
    [
      'a message that ended for another reason',
      message,
      known('cancelled', 0, 'cancelled_by_user'),
      { origin: 'messages', reason: 'destination_disabled' },
      undefined,
    ],
    [
      'a message whose end the history does not know, if a reason is requested',
      message,
      undefined,
      { origin: 'messages', reason: 'destination_disabled' },
      undefined,
    ],
    ['a message without a delivery so far', message, undefined, { origin: 'messages' }, 1],
    ['a delivered message', message, known('delivered'), { origin: 'messages' }, undefined],
    [
      'a requested delivered message',
      message,
      known('delivered', 2),
      { origin: 'messages', includeDelivered: true },
      3,
    ],
    [
      'a message in progress',
      message,
      known('retrying'),
      { origin: 'messages', includeDelivered: true },
      undefined,
    ],
    [
      'a cancelled message',
      message,
      known('cancelled'),
      { origin: 'messages', status: 'cancelled' },
      1,
    ],
    [
      'an unknown message if a status is requested',
      message,
      undefined,
      { origin: 'messages', status: 'cancelled' },
      undefined,
    ],
  ])('the replay number is right for %s (%#)', (_, candidate, row, over, expected) => {
    expect(replayNumber(candidate, row, { ...SCOPE, ...over })).toBe(expected);
  });
});

test('a replay record is the same delivery with a new window, and has an event', () => {
  const context = { nowMs: START + 60_000, windowMs: 3_600_000 };
  const [event, record] = replayRecords(deadDelivery(letter())!, 1, context);
  expect(record).toMatchObject({ topic: 'webhooks.due', key: 'dst_1:3', value: Buffer.from('{}') });
  const { notBefore, final, reason, error, ...kept } = DELIVERY;
  expect(decodeDelivery(record!.headers!)).toEqual({
    kind: 'delivery',
    delivery: {
      ...kept,
      attempt: 0,
      hop: 0,
      replay: 1,
      excludedUrls: [],
      expiresAt: START + 3_660_000,
    },
  });
  expect(event).toMatchObject({ topic: 'attempts', key: 'dlv_1' });
  expect(JSON.parse(String(event!.value))).toMatchObject({
    kind: 'waiting',
    reason: 'replayed',
    replay: 1,
    n: 0,
    record: { topic: 'webhooks.dead', partition: 2, offset: 7 },
  });
});
