import { choose } from '../../../cli/listen/choose-events';
import { type Event } from '../../../shared/api/operations';
import { renderBody } from '../../../shared/model/webhook-body';
import { deliveryId } from '../../../shared/model/delivery';
import { type Message } from '../../../shared/model/message';

/** Selects the events that a listener forwards, and renders them. */

const MESSAGE: Message = {
  ...{ type: 'track', messageId: 'm1', timestamp: '2026-01-01T00:00:00.000Z', receivedAt: '2026-01-01T00:00:00.000Z' },
  ...{ userId: 'u1', event: 'Bought', properties: { total: 1.5, ünï: ['\u2028'] }, context: { ip: '::1' } },
};
const anEvent = (call: unknown, accepted = true): Event => ({ id: '1', at: '', source: 'src_1', accepted, call });
const DESTINATION = { id: 'dst_1', types: null };
const isNew = () => true;

test('the request that production makes: its id and its bytes', () => {
  const event = anEvent(MESSAGE);
  expect(choose(event, { destination: DESTINATION, isNew })).toEqual({
    kind: 'forward',
    forward: { id: deliveryId('src_1', 'm1', 'dst_1'), body: Buffer.from(renderBody(MESSAGE)), event },
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
  ['what cannot be read', anEvent('{'), { destination: DESTINATION, isNew }, 'unreadable'],
  ['a message of before', anEvent(MESSAGE), { destination: DESTINATION, isNew: () => false }, 'duplicate'],
  ['one that its caller excludes', anEvent(off), { destination: DESTINATION, isNew }, 'integrations'],
  ['a blocked event', kept('blocked'), { destination: DESTINATION, isNew }, 'blocked'],
  ['what the filter keeps back', kept('filtered'), { destination: DESTINATION, isNew }, 'filter'],
  ['what the filter fails for', kept('filter_failed'), { destination: DESTINATION, isNew }, 'filter'],
  ['a type that is not wanted', anEvent(MESSAGE), { destination: typed, isNew }, 'type'],
])('left out: %s', (_, event, wanted, why) => {
  expect(choose(event, wanted)).toEqual({ kind: 'left_out', why });
});

test('what the router sends on is forwarded', () => {
  expect(choose(kept('routed'), { destination: DESTINATION, isNew })).toMatchObject({ kind: 'forward' });
});

test('without a destination there are no rules of one', () => {
  expect(choose(anEvent(off), { destination: undefined, isNew })).toMatchObject({ kind: 'forward' });
});
