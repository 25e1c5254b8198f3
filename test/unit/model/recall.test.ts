import { encodeDelivery, type Delivery } from '../../../shared/model/delivery';
import {
  isRecalled,
  nextProbeMs,
  type ParkedRecord,
  type Predicate,
  readRecall,
  type Recall,
  recallEvent,
  recalledHeaders,
  stepHash,
  stepsOf,
  takenNote,
} from '../../../shared/model/recall';
import { aDelivery } from '../../support/factories';

const AT = 1_700_000_000_000;
const DELIVERY = aDelivery({
  sourceId: 'src',
  destinationId: 'dst',
  acceptedAt: AT - 60_000,
  expiresAt: AT + 3_600_000,
  attempt: 2,
  hop: 4,
  traceparent: 'tp',
  reason: 'backoff',
});
const recall = (over: Partial<Recall> = {}, where: Predicate = {}): Recall => ({
  kind: 'recall',
  id: 'r',
  action: 'retry_all',
  where: { destination: 'dst', ...where },
  keys: ['dst:0'],
  ...over,
});
const WAITS_FOR_CIRCUIT: Predicate = { reason: 'circuit_open' };
const parked = (
  over: Partial<Delivery> = {},
  { key = 'dst:0', atMs = AT - 1 } = {},
): ParkedRecord => ({
  topic: 'webhooks.retry.1m',
  partition: 3,
  offset: 7,
  timestampMs: atMs,
  key: Buffer.from(key),
  headers: encodeDelivery({ ...DELIVERY, ...over }),
});
const one = (over: object = {}): Predicate => ({ delivery: { id: 'dlv_1', replay: 0, ...over } });
const seen = (over: object = {}) => one({ attempt: 2, ...over });

test.each<[string, Recall, ParkedRecord, boolean]>([
  ['a retry of all takes what waits at its destination', recall(), parked(), true],
  [
    'a retry of all leaves other destinations',
    recall({}, { destination: 'dst2' }),
    parked(),
    false,
  ],
  [
    'a destination is not mistaken for a longer id',
    recall(),
    parked({ destinationId: 'dst2' }, { key: 'dst2:0' }),
    false,
  ],
  ['a retry of all leaves tests', recall(), parked({ test: true }), false],
  [
    'a retry of all leaves what enters a tier after it',
    recall(),
    parked({}, { atMs: AT + 1 }),
    false,
  ],
  [
    'a recovery takes what the open circuit parked',
    recall({ action: 'recovered' }, WAITS_FOR_CIRCUIT),
    parked({ reason: 'circuit_open' }),
    true,
  ],
  [
    'a recovery takes what the open circuit parked, also if the clock of the brokers went back',
    recall({ action: 'recovered' }, WAITS_FOR_CIRCUIT),
    parked({ reason: 'circuit_open' }, { atMs: AT + 5_000 }),
    true,
  ],
  [
    'a probe takes what the open circuit parked, also long after it was asked for',
    recall({ action: 'probe' }, WAITS_FOR_CIRCUIT),
    parked({ reason: 'circuit_open' }, { atMs: AT + 3_600_000 }),
    true,
  ],
  [
    'a recovery leaves failed attempts to their plan',
    recall({ action: 'recovered' }, WAITS_FOR_CIRCUIT),
    parked(),
    false,
  ],
  [
    'a recovery of a circuit leaves what waits for a token',
    recall({ action: 'recovered' }, WAITS_FOR_CIRCUIT),
    parked({ reason: 'token' }),
    false,
  ],
  [
    'a recovery of the token endpoint takes what waits for a token',
    recall({ action: 'recovered' }, { reason: 'token' }),
    parked({ reason: 'token' }),
    true,
  ],
  [
    'a recovery of the token endpoint leaves what an open circuit parked',
    recall({ action: 'recovered' }, { reason: 'token' }),
    parked({ reason: 'circuit_open' }),
    false,
  ],
  ['a retry of one takes its delivery', recall({ action: 'retry' }, seen()), parked(), true],
  [
    'a retry of one leaves others',
    recall({ action: 'retry' }, seen({ id: 'dlv_2' })),
    parked(),
    false,
  ],
  [
    'a retry of one leaves another replay',
    recall({ action: 'retry' }, seen({ replay: 1 })),
    parked(),
    false,
  ],
  [
    'a retry of one leaves the wait after the attempt that it caused',
    recall({ action: 'retry' }, seen()),
    parked({ attempt: 3 }),
    false,
  ],
  [
    'a cancellation of one takes also its next wait',
    recall({ action: 'cancel' }, one()),
    parked({ attempt: 3 }),
    true,
  ],
  [
    'a cancellation of all takes a delivery that was being attempted',
    recall({ action: 'cancel', expiresBy: DELIVERY.expiresAt }),
    parked({}, { atMs: AT + 1 }),
    true,
  ],
  [
    'a cancellation of all leaves a later replay',
    recall({ action: 'cancel', expiresBy: DELIVERY.expiresAt - 1 }),
    parked({ replay: 1 }, { atMs: AT + 1 }),
    false,
  ],
  [
    'a recovered URL takes what it has not refused',
    recall({ action: 'recovered' }, { url: 'b' }),
    parked({ excludedUrls: ['a'] }),
    true,
  ],
  [
    'a recovered URL leaves what it has refused',
    recall({ action: 'recovered' }, { url: 'b' }),
    parked({ excludedUrls: ['a', 'b'] }),
    false,
  ],
  [
    "a recall of a user takes that user's deliveries, at any destination",
    { ...recall({ action: 'cancel' }), where: { user: 'u1' } },
    parked({ destinationId: 'dst2', userId: 'u1' }, { key: 'dst2:0' }),
    true,
  ],
  [
    'a recall of a user also means the anonymous id',
    { ...recall({ action: 'cancel' }), where: { user: 'u1' } },
    parked({ anonymousId: 'u1' }),
    true,
  ],
  [
    'a recall of a user leaves other users',
    { ...recall({ action: 'cancel' }), where: { user: 'u1' } },
    parked({ userId: 'u2' }),
    false,
  ],
  [
    'all parts of a predicate must apply',
    recall({}, { reason: 'circuit_open', user: 'u1' }),
    parked({ reason: 'token', userId: 'u1' }),
    false,
  ],
])('%s', (_, request, record, expected) => {
  expect(isRecalled(request, record, AT)).toBe(expected);
});

test('the note of what was taken names each step, and no other step has its hash', () => {
  const hashes = [{}, { attempt: 3 }, { hop: 5 }, { replay: 1 }, { id: 'dlv_2' }].map(
    (over) => stepHash(parked(over).headers) ?? '',
  );
  expect(new Set(hashes).size).toBe(5);
  const note = takenNote('r', hashes);
  expect(readRecall(Buffer.from(JSON.stringify(note)))).toEqual(note);
  expect([note.count, stepsOf(note)]).toEqual([5, hashes]);
});

test.each([
  ['text', 'no JSON'],
  ['another kind', '{"kind":"later"}'],
  [
    'an action of a newer version',
    '{"kind":"recall","id":"r","action":"later","where":{"destination":"dst"},"keys":[]}',
  ],
  ['a request for everything', '{"kind":"recall","id":"r","action":"cancel","where":{},"keys":[]}'],
  ['null', 'null'],
])('a record that is %s is ignored', (_, value) => {
  expect(readRecall(Buffer.from(value))).toBeUndefined();
});

test('the copy has the step and the headers of its record, and the mark', () => {
  const { headers } = parked();
  expect(recalledHeaders(recall(), headers)).toEqual({ ...headers, recalled: 'retry_all' });
});

test.each([
  ['a retry', 'retry', 'retry_requested'],
  ['a retry of all', 'retry_all', 'retry_requested'],
  ['a recovery', 'recovered', undefined],
  ['a cancellation', 'cancel', undefined],
] as const)('the history learns of %s as far as it has no other event', (_, action, reason) => {
  const event = recallEvent(recall({ action, job: 'rpl_1' }), parked(), AT);
  expect(event?.reason).toBe(reason);
  if (event) {
    expect(event).toMatchObject({ kind: 'waiting', delivery: 'dlv_1', n: 2, hop: 4, job: 'rpl_1' });
  }
});

test('probes come each minute in the first quarter of an hour, and then every five minutes', () => {
  const times: number[] = [];
  let last: number | undefined = undefined;
  while ((last ?? AT) - AT < 3_600_000) {
    last = nextProbeMs(AT, last);
    times.push(last - AT);
  }
  const gaps = times.slice(1).map((at, i) => [times[i]!, at - times[i]!] as const);
  expect(times[0]).toBe(0);
  for (const [from, gap] of gaps) expect(gap).toBeLessThan(from < 900_000 ? 60_000 : 300_000);
  expect(times.length).toBeLessThan(30);
});
