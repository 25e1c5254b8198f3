import { stepOutcomeOf } from '../../../services/delivery/step-outcome';
import { type DeliveryInHand } from '../../../services/delivery/outcome';
import { type OutRecord } from '../../../shared/kafka/port';

const held = (test?: true) => ({ delivery: { attempt: 1, ...(test && { test }) } }) as DeliveryInHand;
const to = (topic: string, headers: Record<string, string> = {}): OutRecord => ({
  topic,
  key: null,
  value: '',
  headers,
});
const EVENT = to('attempts');
const cancel = { kind: 'cancel', reason: 'destination_deleted' } as const;
const hold = { kind: 'hold', reason: 'paused', wait: { kind: 'wait', tierMs: 1, nextAttemptAt: 1 } } as const;

test.each([
  ['delivered', held(), [EVENT], undefined, { kind: 'delivered' }],
  ['tested', held(true), [EVENT], undefined, { kind: 'tested' }],
  ['cancelled', held(), [EVENT], cancel, { kind: 'cancelled', reason: 'destination_deleted' }],
  [
    'retried',
    held(),
    [EVENT, to('webhooks.retry.10s', { attempt: '2', reason: 'backoff' })],
    undefined,
    { kind: 'retried', reason: 'backoff', topic: 'webhooks.retry.10s' },
  ],
  [
    'diverted by its lane',
    held(),
    [to('webhooks.retry.1m', { attempt: '1', reason: 'lane_full' }), EVENT],
    undefined,
    { kind: 'diverted', reason: 'lane_full', topic: 'webhooks.retry.1m' },
  ],
  [
    'held back',
    held(),
    [to('webhooks.retry.1m', { attempt: '1', reason: 'paused' })],
    hold,
    { kind: 'diverted', reason: 'paused', topic: 'webhooks.retry.1m' },
  ],
  [
    'dead',
    held(),
    [EVENT, EVENT, to('webhooks.dead', { attempt: '2', reason: 'window_closed' })],
    undefined,
    { kind: 'dead', reason: 'window_closed', topic: 'webhooks.dead' },
  ],
])('%s', (_name, of, outcome, admission, fate) => expect(stepOutcomeOf(of, outcome, admission)).toEqual(fate));
