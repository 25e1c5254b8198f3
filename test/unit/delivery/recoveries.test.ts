import { Recoveries, shownRecovery } from '../../../services/delivery/recoveries';
import { type Endpoint, type Lookup } from '../../../services/delivery/destinations/endpoint';
import {
  type DeliveryInHand,
  type Disposition,
} from '../../../services/delivery/decisions/disposition';
import { recordingProducer } from '../../support/fakes';
import { ProcessTime } from '../../../tools/simulator/process-time';
import { Agenda } from '../../../tools/simulator/virtual-clock';

const ENDPOINT: Endpoint = {
  id: 'whk',
  hash: 'hash',
  lane: 'dst/hash',
  destinationId: 'dst',
  destinationVersion: 1,
  shards: 4,
  origin: 'https://a.example',
  path: '/',
  staticHeaders: [],
  secrets: [],
};
const LOOKUP: Lookup = {
  kind: 'open',
  version: 1,
  destination: { enabled: true, paused: false, secrets: undefined, endpoints: [ENDPOINT] },
};

function setUp() {
  const agenda = new Agenda();
  const producer = recordingProducer();
  const owns = (key: string) => key !== 'dst:3';
  const recoveries = new Recoveries({ producer, owns, time: new ProcessTime(agenda) });
  const turn = (state: 'open' | 'closed') =>
    recoveries.turned({ endpoint: ENDPOINT, state, why: 'ok' });
  return { agenda, recoveries, turn, asked: () => producer.values('webhooks.recalls') };
}

test("a closing circuit asks for this process's backlog, once that is in its tier", async () => {
  const { agenda, turn, asked } = setUp();
  turn('closed');
  expect(asked()).toEqual([]);
  await agenda.run(1_000);
  const keys = ['dst:0', 'dst:1', 'dst:2'];
  expect(asked()).toMatchObject([
    { kind: 'recall', action: 'recovered', destination: 'dst', keys },
  ]);
});

test('a circuit that opens again stops the return of its backlog', async () => {
  const { agenda, turn, asked } = setUp();
  turn('closed');
  await agenda.run(1_000);
  turn('open');
  const [{ id: recall }] = asked() as [{ id: string }];
  expect(asked().at(-1)).toEqual({ kind: 'stop', recall });
});

test('a circuit that opens again at once asks for no backlog', async () => {
  const { agenda, turn, asked } = setUp();
  turn('closed');
  turn('open');
  await agenda.run(1_000);
  expect(asked().filter(({ kind }) => kind === 'recall')).toEqual([]);
});

test('a flapping circuit asks every ten seconds at most, and its last close counts', async () => {
  const { agenda, turn, asked } = setUp();
  for (let i = 0; i < 40; i++) {
    turn('closed');
    await agenda.run(agenda.now + 600);
    if (i < 39) turn('open');
    await agenda.run(agenda.now + 400);
  }
  await agenda.run(agenda.now + 10_000);
  const asks = asked().filter(({ kind }) => kind === 'recall');
  expect(asks.length).toBeGreaterThan(2);
  expect(asks.length).toBeLessThanOrEqual(5);
  expect(asked().at(-1)).toMatchObject({ kind: 'recall' });
});

test('a circuit that opens again stops what it asked for, although more is to come', async () => {
  const { agenda, turn, asked } = setUp();
  turn('closed');
  await agenda.run(1_000);
  // The circuit of another URL of the destination.
  turn('closed');
  turn('open');
  await agenda.run(20_000);
  const [{ id: recall }] = asked() as [{ id: string }];
  expect(asked().slice(1)).toEqual([{ kind: 'stop', recall }]);
});

test('parked deliveries that return by themselves ask for the others once a minute', async () => {
  const { agenda, recoveries, asked } = setUp();
  for (let i = 0; i < 5; i++) recoveries.arrived('dst', LOOKUP, 'proxy');
  await agenda.run(59_000);
  recoveries.arrived('dst', LOOKUP, 'proxy');
  expect(asked()).toMatchObject([{ action: 'recovered', reason: 'proxy' }]);
  await agenda.run(62_000);
  recoveries.arrived('dst', LOOKUP, 'proxy');
  await agenda.run(63_000);
  expect(asked()).toHaveLength(2);
});

test('a recovered token endpoint and an open circuit affect only their own backlog', async () => {
  const { agenda, recoveries, turn, asked } = setUp();
  recoveries.recovered(LOOKUP, 'token');
  turn('closed');
  await agenda.run(1_000);
  expect(asked().map(({ reason }) => reason)).toEqual(['token', 'circuit_open']);
  turn('open');
  expect(asked().at(-1)).toEqual({ kind: 'stop', recall: asked()[1]!.id });
});

test.each<[string, object, string, string | undefined]>([
  [
    'a parked delivery that is delivered shows a recovery',
    { reason: 'circuit_open' },
    'delivered',
    'circuit_open',
  ],
  [
    'a delivery held for a token that is delivered shows a recovery',
    { reason: 'token' },
    'delivered',
    'token',
  ],
  [
    'a delivery held for a proxy that is delivered shows a recovery',
    { reason: 'proxy' },
    'delivered',
    'proxy',
  ],
  [
    'a parked delivery that fails shows no recovery',
    { reason: 'circuit_open' },
    'retried',
    undefined,
  ],
  [
    'a recalled delivery shows no recovery',
    { reason: 'circuit_open', recalled: 'recovered' },
    'delivered',
    undefined,
  ],
  ['a delivery that had failed shows no recovery', { reason: 'backoff' }, 'delivered', undefined],
])('%s', (_, delivery, kind, expected) => {
  expect(shownRecovery({ delivery } as DeliveryInHand, { kind } as Disposition)).toBe(expected);
});
