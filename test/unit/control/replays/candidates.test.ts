import {
  type Candidate,
  candidateOf,
  heldDelivery,
  type Known,
  replayNumber,
  replayRecords,
} from '../../../../services/control/replays/candidates';
import { type Scope } from '../../../../services/control/replays/scope';
import { type Destination, type Source } from '../../../../shared/model/config';
import { decodeDelivery, type Delivery, deliveryId, encodeDelivery } from '../../../../shared/model/delivery';
import { messageHeaders } from '../../../../shared/model/message';
import { type InRecord } from '../../../../shared/kafka/port';
import { START } from '../../../support/events';
import { aSource } from '../../../support/fakes';

const DELIVERY: Delivery = {
  id: 'dlv_1',
  messageId: 'msg-1',
  sourceId: 'src_1',
  destinationId: 'dst_1',
  type: 'track',
  userId: 'kim',
  acceptedAt: START,
  expiresAt: START + 1_000,
  attempt: 3,
  hop: 4,
  replay: 0,
  closed: ['abc'],
  notBefore: START + 5,
  final: true,
  reason: 'window_closed',
  error: 'timeout: no answer',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
};
const SCOPE: Scope = {
  destination: 'dst_1',
  origin: 'dead_letters',
  from: null,
  to: START + 10_000,
  status: null,
  type: null,
  includeDelivered: false,
};
const DESTINATION: Destination = {
  id: 'dst_1',
  name: 'Hooks',
  type: 'webhooks',
  enabled: true,
  paused: false,
  sources: ['src_1'],
  webhooks: [],
  createdAt: '',
  updatedAt: '',
};
const config = (source: Source = aSource(), destination: Destination = DESTINATION) => ({
  source: (id: string) => (source.id === id ? { version: 1, data: source } : undefined),
  destination: (id: string) => (destination.id === id ? { version: 1, data: destination } : undefined),
});
const inRecord = (topic: string, headers: Record<string, string>, value: string): InRecord => ({
  topic,
  partition: 2,
  offset: 7,
  timestampMs: START,
  key: Buffer.from('dst_1:3'),
  value: Buffer.from(value),
  headers,
});
const letter = (over: Partial<Delivery> = {}) =>
  inRecord('webhooks.dead', encodeDelivery({ ...DELIVERY, ...over }), '{}');
const call = (over: object = {}, acceptedAtMs = START) => {
  const message = { type: 'track', messageId: 'msg-1', timestamp: 'then', userId: 'kim', event: 'Order', ...over };
  const headers = messageHeaders('src_1', message.messageId, { acceptedAtMs, traceparent: DELIVERY.traceparent });
  return inRecord('messages', headers, JSON.stringify(message));
};

describe('of dead letters', () => {
  it.each<[string, InRecord, Partial<Scope>, boolean]>([
    ['one of the destination', letter(), {}, true],
    ['one of another', letter({ destinationId: 'dst_2' }), {}, false],
    ['of the type', letter(), { type: 'track' }, true],
    ['of another type', letter(), { type: 'page' }, false],
    ['at the beginning of the time', letter(), { from: START }, true],
    ['before it', letter(), { from: START + 1 }, false],
    ['at its end, which is not part of it', letter(), { to: START }, false],
    ['a test', letter({ test: true }), {}, false],
    ['one that cannot be read', inRecord('webhooks.dead', { format: '1' }, 'x'), {}, false],
  ])('%s', (_, record, over, taken) => {
    expect(candidateOf(record, { ...SCOPE, ...over }, config()) !== undefined).toBe(taken);
  });
});

describe('of messages', () => {
  const scope: Scope = { ...SCOPE, origin: 'messages' };
  it.each<[string, InRecord, ReturnType<typeof config>, boolean]>([
    ['one for the destination', call(), config(), true],
    ['excluded by the caller', call({ integrations: { All: false } }), config(), false],
    ['included by name', call({ integrations: { All: false, Webhooks: true } }), config(), true],
    ['of a type that it does not want', call(), config(undefined, { ...DESTINATION, types: ['page'] }), false],
    ['of a source that is not connected', call(), config(undefined, { ...DESTINATION, sources: [] }), false],
    ['of a source that is off', call(), config(aSource({ enabled: false })), false],
    ['of a source that is gone', call(), config(aSource({ id: 'src_9' })), false],
    ['that is none', inRecord('messages', call().headers as never, 'x'), config(), false],
    ['after the time', call({}, START + 10_000), config(), false],
  ])('%s', (_, record, view, taken) => {
    expect(candidateOf(record, scope, view) !== undefined).toBe(taken);
  });

  it('is the delivery that the router would have made, with its body', () => {
    const candidate = candidateOf(call(), scope, config())!;
    expect(candidate.delivery.id).toBe(deliveryId('src_1', 'msg-1', 'dst_1'));
    expect(candidate.key).toMatch(/^dst_1:\d$/);
    expect(JSON.parse(String(candidate.body))).toMatchObject({ version: 1, type: 'track', event: 'Order' });
  });
});

describe('the number of its replay', () => {
  const dead = heldDelivery(letter())!;
  const deadTwice = heldDelivery(letter({ replay: 1 }))!;
  const message = candidateOf(call(), { ...SCOPE, origin: 'messages' }, config())!;
  const known = (status: Known['status'], replay = 0): Known => ({ status, replay });
  it.each<[string, Candidate, Known | undefined, Partial<Scope>, number | undefined]>([
    ['a dead letter', dead, known('dead'), {}, 1],
    ['that the history does not know', dead, undefined, {}, 1],
    ['whose death the history has not read yet', dead, known('retrying'), {}, 1],
    ['that was delivered since', dead, known('delivered'), {}, undefined],
    ['the same, asked for', dead, known('delivered'), { includeDelivered: true }, 1],
    ['that is under way again', dead, known('waiting', 1), {}, undefined],
    ['that died again: this letter is the old one', dead, known('dead', 1), {}, undefined],
    ['and this the new one', deadTwice, known('dead', 1), {}, 2],
    ['of another status', dead, known('cancelled'), { status: 'dead' }, undefined],
    ['of the status', dead, known('dead'), { status: 'dead' }, 1],
    ['a message that was never for it', message, undefined, { origin: 'messages' }, 1],
    ['that was delivered', message, known('delivered'), { origin: 'messages' }, undefined],
    ['the same, asked for', message, known('delivered', 2), { origin: 'messages', includeDelivered: true }, 3],
    ['that is under way', message, known('retrying'), { origin: 'messages', includeDelivered: true }, undefined],
    ['that was cancelled', message, known('cancelled'), { origin: 'messages', status: 'cancelled' }, 1],
    [
      'that is unknown, where a status is asked for',
      message,
      undefined,
      { origin: 'messages', status: 'cancelled' },
      undefined,
    ],
  ])('%s', (_, candidate, row, over, expected) => {
    expect(replayNumber(candidate, row, { ...SCOPE, ...over })).toBe(expected);
  });
});

it('is sent as the same delivery with a new window, and said so', () => {
  const context = { nowMs: START + 60_000, windowMs: 3_600_000 };
  const [event, record] = replayRecords(heldDelivery(letter())!, 1, context);
  expect(record).toMatchObject({ topic: 'webhooks.due', key: 'dst_1:3', value: Buffer.from('{}') });
  const { notBefore, final, reason, error, ...kept } = DELIVERY;
  expect(decodeDelivery(record!.headers!)).toEqual({
    kind: 'delivery',
    delivery: { ...kept, attempt: 0, hop: 0, replay: 1, closed: [], expiresAt: START + 3_660_000 },
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
