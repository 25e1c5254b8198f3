import { Recoveries, shownRecovery } from '../../../services/delivery/recoveries';
import { type Endpoint, type Lookup } from '../../../services/delivery/destinations/endpoint';
import {
  type DeliveryInHand,
  type Disposition,
} from '../../../services/delivery/decisions/disposition';
import { clientCredentials } from '../../../services/delivery/http/client-credentials';
import { Proxies } from '../../../services/delivery/http/proxies';
import { defined } from '../../../shared/collections/defined';
import { type OAuth2 } from '../../../shared/model/endpoint-auth';
import { type Predicate } from '../../../shared/model/recall';
import { createLog } from '../../../shared/telemetry/log';
import { anEndpoint } from '../../support/factories';
import { recordingProducer } from '../../support/fakes';
import { virtualLanes } from '../../support/virtual-lanes';
import { ProcessTime } from '../../../tools/simulator/process-time';
import { Agenda } from '../../../tools/simulator/virtual-clock';

const ENDPOINT = anEndpoint();
function lookupOf(
  state: { enabled?: boolean; paused?: boolean },
  url: Partial<Endpoint> = {},
): Lookup {
  const endpoints = [{ ...ENDPOINT, ...url }];
  return {
    kind: 'open',
    version: 1,
    destination: { enabled: true, paused: false, secrets: undefined, endpoints, ...state },
  };
}
const LOOKUP = lookupOf({});
const withAuth = (clientId: string, state: { paused?: boolean } = {}) => {
  const oauth2: OAuth2<string> = {
    type: 'oauth2',
    tokenUrl: 'https://login.example/token',
    tokenOrigin: 'https://login.example',
    clientId,
    clientSecret: 'secret',
  };
  const credentials = clientCredentials(oauth2, { destination: 'dst', tlsId: undefined });
  return lookupOf(state, { auth: { credentials } });
};
const behindProxy = (address: string) => {
  const proxies = new Proxies({ usual: undefined, now: () => 0, log: createLog('test', 'silent') });
  const proxy = proxies.of({ address }, () => '');
  return lookupOf({}, defined({ proxy }));
};

function setUp(owns = (key: string) => key !== 'dst:3') {
  const agenda = new Agenda();
  const producer = recordingProducer();
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
  const where = { destination: 'dst', reason: 'circuit_open', url: 'hash' };
  expect(asked()).toMatchObject([{ kind: 'recall', action: 'recovered', where, keys }]);
});

test('a process without a partition of the destination asks for nothing', async () => {
  const { agenda, turn, asked } = setUp(() => false);
  turn('open');
  await agenda.run(30_000);
  turn('closed');
  await agenda.run(60_000);
  expect(asked().filter(({ kind }) => kind === 'recall')).toEqual([]);
});

test('a circuit that opens again stops the return of its backlog', async () => {
  const { agenda, turn, asked } = setUp();
  turn('closed');
  await agenda.run(1_000);
  turn('open');
  const [{ id: recall }] = asked() as [{ id: string }];
  expect(asked().at(-1)).toEqual({ kind: 'stop', recall });
});

test('a return that takes many minutes stops when the circuit opens again', async () => {
  const { agenda, recoveries, turn, asked } = setUp();
  turn('closed');
  await agenda.run(1_000);
  const [{ id: recall }] = asked() as [{ id: string }];
  await agenda.run(20 * 60_000);
  recoveries.recovered(LOOKUP, 'token');
  turn('open');
  expect(asked().at(-1)).toEqual({ kind: 'stop', recall });
});

test('probes end with the lane, once nobody has used it for long', async () => {
  const { agenda, recoveries, asked } = setUp();
  const lanes = virtualLanes(new ProcessTime(agenda), {
    onCircuit: (transition) => recoveries.turned(transition),
    onDropped: (lane) => recoveries.stopProbes(lane),
  });
  const lane = lanes.of(ENDPOINT);
  for (let i = 0; i < 10; i++) {
    const job = {
      record: { isRevoking: false },
      bytes: 0,
      due: false,
      start: () => undefined,
      carries: () => false,
      refuse: () => undefined,
    };
    expect(lane.offer(job, lanes.now())).toBe('placed');
    job.start();
    lane.freePlace(job, lanes.now(), { kind: 'failed' });
  }
  await agenda.run(30_000);
  expect(asked()).toMatchObject([{ kind: 'recall', action: 'probe' }]);
  await agenda.run(86_400_000);
  expect(asked().slice(1)).toEqual([{ kind: 'stop', recall: asked()[0]!.id }]);
  lanes.stop();
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

test('a circuit of another URL of a destination stops nothing, and asks for its own', async () => {
  const { agenda, recoveries, turn, asked } = setUp();
  const other = { ...ENDPOINT, id: 'whk2', hash: 'hash2', lane: 'dst/hash2' };
  turn('closed');
  await agenda.run(1_000);
  recoveries.turned({ endpoint: other, state: 'open', why: 'failed' });
  recoveries.turned({ endpoint: other, state: 'closed', why: 'ok' });
  await agenda.run(2_000);
  expect(asked()).toMatchObject([{ where: { url: 'hash' } }, { where: { url: 'hash2' } }]);
});

describe('probes', () => {
  const probes = (asked: ReturnType<typeof setUp>['asked']) =>
    asked().filter(({ action }) => action === 'probe');

  test('are asked for once a circuit stays open, and stopped when it closes', async () => {
    const { agenda, turn, asked } = setUp();
    turn('open');
    await agenda.run(30_000);
    const keys = ['dst:0', 'dst:1', 'dst:2'];
    const where = { destination: 'dst', reason: 'circuit_open', url: 'hash' };
    expect(asked()).toMatchObject([{ kind: 'recall', action: 'probe', where, keys }]);
    turn('closed');
    expect(asked().at(-1)).toEqual({ kind: 'stop', recall: asked()[0]!.id });
  });

  test('are not asked for if the circuit closes soon', async () => {
    const { agenda, turn, asked } = setUp();
    turn('open');
    await agenda.run(5_000);
    turn('closed');
    await agenda.run(60_000);
    expect(probes(asked)).toEqual([]);
  });

  test('are asked for again while an outage lasts longer than half a day', async () => {
    const { agenda, turn, asked } = setUp();
    turn('open');
    await agenda.run(50_000_000);
    expect(probes(asked)).toHaveLength(2);
    expect(new Set(probes(asked).map(({ id }) => id)).size).toBe(1);
  });

  test('of a process that was here before stop with the first success', async () => {
    const before = setUp();
    before.turn('open');
    await before.agenda.run(30_000);
    const { agenda, recoveries, asked } = setUp();
    recoveries.arrived(LOOKUP, 'circuit_open', ['whk']);
    await agenda.run(1_000);
    expect(asked()).toMatchObject([
      { kind: 'stop', recall: before.asked()[0]!.id },
      { action: 'recovered', where: { url: 'hash' } },
    ]);
  });

  test('end when their URL is corrected, and what waited goes to the new one', async () => {
    const { agenda, recoveries, turn, asked } = setUp();
    turn('open');
    await agenda.run(30_000);
    recoveries.changed(LOOKUP, lookupOf({}, { hash: 'corrected', lane: 'dst/corrected' }));
    await agenda.run(31_000);
    const where = { destination: 'dst', reason: 'circuit_open', url: 'corrected' };
    expect(asked().slice(1)).toMatchObject([
      { kind: 'stop', recall: asked()[0]!.id },
      { action: 'recovered', where },
    ]);
  });
});

test.each<[string, Lookup | undefined, Lookup, Predicate[]]>([
  [
    'the end of a pause asks for what it held',
    lookupOf({ paused: true }),
    LOOKUP,
    [{ destination: 'dst', reason: 'paused' }],
  ],
  ['a change beside asks for nothing', withAuth('id'), withAuth('id'), []],
  [
    'corrected credentials ask for what waited for a token',
    withAuth('wrong'),
    withAuth('id'),
    [{ destination: 'dst', reason: 'token' }],
  ],
  [
    'another kind of authentication asks for what waited for a token',
    withAuth('wrong'),
    LOOKUP,
    [{ destination: 'dst', reason: 'token' }],
  ],
  [
    'another proxy asks for what waited for the former one',
    behindProxy('http://away.example:8080'),
    behindProxy('http://proxy.example:8080'),
    [{ destination: 'dst', reason: 'proxy' }],
  ],
  [
    'credentials that are corrected during a pause ask for what waited for a token',
    withAuth('wrong', { paused: true }),
    withAuth('id', { paused: true }),
    [{ destination: 'dst', reason: 'token' }],
  ],
  [
    'a URL that is corrected during a pause asks for what waited for its circuit',
    lookupOf({ paused: true }),
    lookupOf({ paused: true }, { hash: 'corrected', lane: 'dst/corrected' }),
    [{ destination: 'dst', reason: 'circuit_open', url: 'corrected' }],
  ],
  ['the begin of a pause asks for nothing', LOOKUP, lookupOf({ paused: true }), []],
  [
    'the end of a pause of what is off asks for nothing',
    lookupOf({ paused: true }),
    lookupOf({ enabled: false }),
    [],
  ],
  ['a destination that was not used here asks for nothing', undefined, LOOKUP, []],
  ['a deleted destination asks for nothing', LOOKUP, { kind: 'deleted' }, []],
])('%s', async (_, before, after, expected) => {
  const { agenda, recoveries, asked } = setUp();
  recoveries.changed(before, after);
  await agenda.run(1_000);
  expect(asked().map(({ where }) => where)).toEqual(expected);
});

test('parked deliveries that return by themselves ask for the others once a minute', async () => {
  const { agenda, recoveries, asked } = setUp();
  for (let i = 0; i < 5; i++) recoveries.arrived(LOOKUP, 'proxy', ['whk']);
  await agenda.run(59_000);
  recoveries.arrived(LOOKUP, 'proxy', ['whk']);
  expect(asked()).toMatchObject([
    { action: 'recovered', where: { destination: 'dst', reason: 'proxy' } },
  ]);
  await agenda.run(62_000);
  recoveries.arrived(LOOKUP, 'proxy', ['whk']);
  await agenda.run(63_000);
  expect(asked()).toHaveLength(2);
});

test('a recovered token endpoint and an open circuit affect only their own backlog', async () => {
  const { agenda, recoveries, turn, asked } = setUp();
  recoveries.recovered(LOOKUP, 'token');
  turn('closed');
  await agenda.run(1_000);
  expect(asked().map(({ where }) => (where as Predicate).reason)).toEqual([
    'token',
    'circuit_open',
  ]);
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
    'a probe that is delivered shows a recovery',
    { reason: 'circuit_open', recalled: 'probe' },
    'delivered',
    'circuit_open',
  ],
  [
    'a delivery that a pause held and that is delivered shows its end',
    { reason: 'paused' },
    'delivered',
    'paused',
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
