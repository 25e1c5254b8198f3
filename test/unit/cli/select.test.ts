import { choose } from '../../../cli/listen/choose-events';
import { type Event } from '../../../shared/api/operations';
import { renderBody } from '../../../shared/model/webhook-body';
import { deliveryId } from '../../../shared/model/delivery';
import { type Message } from '../../../shared/model/message';

/** Selects the events that a listener forwards, and renders them. */

const MESSAGE: Message = {
  type: 'track',
  messageId: 'm1',
  timestamp: '2026-01-01T00:00:00.000Z',
  receivedAt: '2026-01-01T00:00:00.000Z',
  userId: 'u1',
  event: 'Bought',
  properties: { total: 1.5, ünï: ['\u2028'] },
  context: { ip: '::1' },
};
const anEvent = (call: unknown, accepted = true): Event => ({
  id: '1',
  at: '',
  source: 'src_1',
  accepted,
  call,
  warnings: [],
});
const DESTINATION = { id: 'dst_1', types: null };
const isNew = () => true;

test('a message is forwarded with the id and the body bytes of its delivery', () => {
  const event = anEvent(MESSAGE);
  expect(choose(event, { destination: DESTINATION, isNew })).toEqual({
    kind: 'forward',
    forward: {
      id: deliveryId('src_1', 'm1', 'dst_1'),
      body: Buffer.from(renderBody(MESSAGE)),
      event,
    },
  });
});

const off = { ...MESSAGE, integrations: { Webhooks: false } };
const kept = (outcome: 'blocked' | 'filtered' | 'filter_failed' | 'routed'): Event => ({
  ...anEvent(MESSAGE),
  destinations: [
    { destination: 'dst_2', name: 'Other', outcome: 'routed' },
    { destination: 'dst_1', name: 'Hook', outcome },
  ],
});
const typed = { ...DESTINATION, types: ['identify' as const] };
test.each([
  ['a rejected call', anEvent(MESSAGE, false), { destination: DESTINATION, isNew }, 'rejected'],
  ['an unreadable call', anEvent('{'), { destination: DESTINATION, isNew }, 'unreadable'],
  [
    'a repeated message',
    anEvent(MESSAGE),
    { destination: DESTINATION, isNew: () => false },
    'duplicate',
  ],
  [
    'a message that its caller excludes',
    anEvent(off),
    { destination: DESTINATION, isNew },
    'integrations',
  ],
  ['a blocked event', kept('blocked'), { destination: DESTINATION, isNew }, 'blocked'],
  [
    'a message that the filter excludes',
    kept('filtered'),
    { destination: DESTINATION, isNew },
    'filter',
  ],
  [
    'a message for which the filter fails',
    kept('filter_failed'),
    { destination: DESTINATION, isNew },
    'filter',
  ],
  ['a message of an unwanted type', anEvent(MESSAGE), { destination: typed, isNew }, 'type'],
])('%s is left out', (_, event, wanted, why) => {
  expect(choose(event, wanted)).toEqual({ kind: 'left_out', why });
});

test('a message that the router sends to the destination is forwarded', () => {
  expect(choose(kept('routed'), { destination: DESTINATION, isNew })).toMatchObject({
    kind: 'forward',
  });
});

test('without a destination an event is forwarded in spite of its integrations', () => {
  expect(choose(anEvent(off), { destination: undefined, isNew })).toMatchObject({
    kind: 'forward',
  });
});
