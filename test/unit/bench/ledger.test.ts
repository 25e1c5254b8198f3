import { between, numberIn } from '../../../tools/bench/ledger/ledger';
import { excess } from '../../../tools/bench/ledger/limits';

test('what was done between two readings is divided by the calls, and zeros are left out', () => {
  const from = { router: { 'wake-ups': 10, timers: 5 } };
  const to = { router: { 'wake-ups': 30, timers: 5, 'Kafka: Fetch': 4 } };
  expect(between(from, to, 10)).toEqual({ router: { 'wake-ups': 2, 'Kafka: Fetch': 0.4 } });
});

test('a number is read from its own line of a file of Linux', () => {
  const status = 'Name:\tnode\nnonvoluntary_ctxt_switches:\t7\nvoluntary_ctxt_switches:\t42\n';
  expect(numberIn(status, 'voluntary_ctxt_switches')).toBe(42);
  expect(numberIn('', 'syscr')).toBe(0);
});

test.each([
  [
    'within its limits',
    { 'Kafka: Fetch': 1, 'wake-ups of the main thread': 2, 'JSON texts read': 1 },
    [],
  ],
  [
    'that asks more of Kafka',
    { 'Kafka: Fetch': 1, 'Kafka: Heartbeat': 0.5 },
    ['router: 1.50 requests to Kafka (Fetch 1.00, Heartbeat 0.50) for a call, above 1'],
  ],
  [
    'that wakes more often',
    { 'wake-ups of the main thread': 2.5 },
    ['router: 2.50 wake-ups of the main thread for a call, above 2'],
  ],
  [
    'with more JSON',
    { 'JSON texts read': 1, 'JSON texts written': 1 },
    ['router: 2.00 JSON texts for a call, above 1'],
  ],
])('a process %s', (_, counts, expected) => {
  const limits = { router: { requests: 1, wakeUps: 2, json: 1 } };
  expect(excess({ router: counts }, limits, 'a call')).toEqual(expected);
});
