import { laneOptions } from '../../services/delivery/tuning';
import { type AttemptEvent, type DeliveryEvent } from '../../shared/model/attempt-events';
import { type NameServer, startNameServer } from '../support/name-server';
import { eventually } from '../support/eventually';
import { aCall } from '../support/factories';
import { type CallType } from '../../shared/model/message';
import { type FailingReceiver, failingReceivers } from '../support/failing-receivers';
import { type Connection, openStorySystem, type StorySystem } from '../support/story-system';

/**
 * Failing receivers of every kind run beside two healthy ones: each affects its own lane alone, and
 * the record of each attempt names the true cause.
 */

/** Three times the initial limit of a lane. */
const TRACKS = 60;
/** Two waves of these fill a lane. */
const IDENTIFIES = 10;
const TIMEOUT_MS = 3_000;
const SLOW_MS = TIMEOUT_MS - 100;
const TIERS_MS = [500, 2_000];
/** The initial limit of a lane, and a margin: some receivers see the end of a connection late. */
const MOST_CONNECTIONS = laneOptions(TIERS_MS).start * 1.5;

const receivers = failingReceivers(SLOW_MS);
/** Allowed causes of each receiver's attempts, as code/phase or outcome. The first must occur. */
const EXPECTED: Record<keyof typeof receivers | keyof typeof NAMES, [string, ...string[]]> = {
  'never answers': ['timeout/headers'],
  // It answers 100 ms before the deadline: on a busy machine some answers are too late.
  'is slow': ['delivered', 'timeout/headers'],
  'never reads': ['timeout/headers'],
  'never reads the body': ['timeout/headers'],
  'never accepts': ['timeout/connect'],
  'forgets its connections': ['timeout/headers', 'delivered'],
  // A status that has arrived decides, whatever follows.
  'drips its head': ['delivered, cut'],
  'drips its body': ['delivered, cut'],
  'answers without end': ['delivered, cut'],
  'answers with a head too large': ['delivered, cut'],
  'speaks something else': ['connection/headers'],
  resets: ['connection/headers'],
  'resets within the body': ['delivered, cut'],
  'hangs up': ['connection/headers'],
  'stalls in TLS': ['timeout/tls'],
  'resets in TLS': ['tls/tls'],
  'has no TLS': ['tls/tls'],
  'proves nothing': ['tls/tls'],
  'has a name that nobody answers for': ['timeout/dns'],
  'has a name that is not there': ['dns/dns'],
  'has a name whose server fails': ['dns/dns'],
  'has a name with a forbidden address': ['forbidden_address/dns'],
  'has a name with a forbidden address beside its own': ['forbidden_address/dns'],
};
/** They answer at times, and get fewer calls: identifies alone, before all the others fail. */
const ANSWER = ['is slow', 'forgets its connections'];
/** Their quick answers let a lane grow. */
const QUICK = ['forgets its connections', 'answers without end'];
const NAMES = {
  'has a name that nobody answers for': 'silent.test',
  'has a name that is not there': 'missing.test',
  'has a name whose server fails': 'failing.test',
  'has a name with a forbidden address': 'forbidden.test',
  'has a name with a forbidden address beside its own': 'mixed.test',
};

let stage: StorySystem;
let names: NameServer;
let connection: Connection;
const sick = new Map<string, FailingReceiver>();
const destinations = new Map<string, string>();
const sent: string[] = [];
let identifies: string[] = [];

beforeAll(async () => {
  names = await startNameServer({
    'well.test': '127.0.0.1',
    'silent.test': 'silent',
    'missing.test': 'missing',
    'failing.test': 'failing',
    'forbidden.test': '10.66.0.1',
    'mixed.test': '127.0.0.1,10.66.0.1',
  });
  const env = {
    WAYPOST_RETRY_DELAYS: TIERS_MS.map((ms) => `${ms}ms`).join(),
    WAYPOST_TIMEOUT: `${TIMEOUT_MS}ms`,
    WAYPOST_DNS_SERVERS: names.address,
  };
  stage = await openStorySystem({ env, together: true });
  const { sink, system } = stage;
  connection = await stage.connect({ webhooks: [{ url: sink.url('/well') }] });
  destinations.set('well', connection.destination.id);
  for (const [kind, start] of Object.entries(receivers)) sick.set(kind, await start());
  const urls = [
    ['well by its name', sink.url('/named').replace('127.0.0.1', 'well.test')],
    ...[...sick].map(([kind, { url }]) => [kind, url]),
    ...Object.entries(NAMES).map(([kind, name]) => [kind, `http://${name}/`]),
  ] as [string, string][];
  for (const [kind, url] of urls) {
    const types = kind.startsWith('well')
      ? {}
      : { types: [ANSWER.includes(kind) ? 'identify' : 'track'] };
    const { id } = await system.createDestination({
      sources: [connection.source.id],
      webhooks: [{ url }],
      ...types,
    });
    destinations.set(kind, id);
  }
  await stage.settled();
}, 240_000);

afterAll(async () => {
  await stage.close();
  await Promise.all([...sick.values(), names].map((server) => server.close()));
});

async function wave(type: CallType, count: number): Promise<string[]> {
  const calls = Array.from({ length: count }, (_, i) => aCall(type, { userId: `user-${i}` }));
  await Promise.all(calls.map((call) => connection.send(call)));
  const ids = calls.map(({ messageId }) => messageId);
  sent.push(...ids);
  return ids;
}

function eventsOf(kind: string): DeliveryEvent[] {
  const id = destinations.get(kind);
  return sent
    .flatMap((messageId) => stage.topics.eventsOf(messageId))
    .filter(({ destination }) => destination === id);
}

function attemptsOf(kind: string): AttemptEvent[] {
  return eventsOf(kind).filter((event): event is AttemptEvent => event.kind === 'attempt');
}

function delivered(kind: string): string[] {
  return attemptsOf(kind).flatMap(({ outcome, message }) =>
    outcome === 'delivered' ? message : [],
  );
}

function causeOf({ urls, outcome }: AttemptEvent): string {
  const [url] = urls;
  if (!url?.error) return outcome + (url?.response?.truncated ? ', cut' : '');
  return `${url.error.code}/${String(url.error.phase)}`;
}

/** Checks that a healthy receiver has the body of every call once. */
function wellHasAll(path: string): void {
  const arrived = stage.sink
    .received(path)
    .map(({ body }) => (JSON.parse(body.toString()) as { messageId: string }).messageId);
  expect(arrived.sort()).toEqual([...sent].sort());
}

test('healthy receivers get every call with the first attempt, while all others fail', async () => {
  // The first wave of tracks shows the faults, and the second comes amid them.
  // Pages come first, for the healthy receivers alone: a cold process needs longer than `is slow`
  // has to spare.
  await wave('page', TRACKS);
  await eventually(() => wellHasAll('/named'));
  identifies = await wave('identify', IDENTIFIES);
  // A request on a forgotten connection waits for the timeout and is retried, at times more than
  // once.
  await eventually(() => expect(delivered('forgets its connections')).toHaveLength(IDENTIFIES), {
    deadlineMs: 120_000,
  });
  identifies.push(...(await wave('identify', IDENTIFIES)));
  await wave('track', TRACKS);
  await eventually(
    () => {
      const quiet = Object.keys(EXPECTED).filter((kind) => attemptsOf(kind).length === 0);
      expect(quiet).toEqual([]);
    },
    { deadlineMs: 120_000 },
  );
  await wave('track', TRACKS);
  for (const path of ['/well', '/named']) {
    await eventually(() => wellHasAll(path), { deadlineMs: 60_000 });
  }
  for (const kind of ['well', 'well by its name']) {
    await eventually(() => expect(eventsOf(kind)).toHaveLength(sent.length));
    for (const event of eventsOf(kind)) {
      expect(event).toMatchObject({ kind: 'attempt', n: 1, outcome: 'delivered' });
    }
  }
}, 500_000);

test.each(Object.entries(EXPECTED))(
  'attempts at a receiver that %s show %s',
  async (kind, [cause, ...others]) => {
    await eventually(() => expect(attemptsOf(kind).map(causeOf)).toContain(cause), {
      deadlineMs: 60_000,
    });
    // On a busy machine the timeout may come before the true cause.
    const causes = new Set(
      attemptsOf(kind)
        .map(causeOf)
        .filter((shown) => !shown.startsWith('timeout/')),
    );
    expect([cause, ...others]).toEqual(expect.arrayContaining([...causes]));
    if (!QUICK.includes(kind)) {
      expect(sick.get(kind)?.maxConnections ?? 0).toBeLessThanOrEqual(MOST_CONNECTIONS);
    }
  },
);

test('a receiver that forgets its connections gets every call in the end', async () => {
  // It answers the first request of each connection alone.
  await eventually(
    () => expect(new Set(delivered('forgets its connections'))).toEqual(new Set(identifies)),
    {
      deadlineMs: 120_000,
    },
  );
});
