import { type Connection, openStorySystem, type StorySystem } from '../support/story-system';
import { makeCertificate } from '../support/certificate';
import { eventually } from '../support/eventually';
import { aTrack } from '../support/factories';
import { freePort } from '../support/free-port';
import { type ReceivedRequest, startSink } from '../../tools/harness/sink';
import { type Json } from '../../tools/harness/api';
import { isSignedBy } from '../support/verify-signature';

/** Alerts: a destination fails, recovers, or is switched off. */

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const FAILING_MS = 2_000;

let stage: StorySystem;
beforeAll(async () => {
  stage = await openStorySystem({ env: { WAYPOST_RETRY_DELAYS: '300ms,600ms' } });
});
afterAll(() => stage.close());

/** Kills control, and waits for the next one to answer. */
async function killControl(): Promise<void> {
  const { system } = stage;
  const [pid] = system.pids('control');
  system.kill('control', 'SIGKILL');
  await eventually(
    async () => {
      expect(system.pids('control')).not.toContain(pid);
      expect((await system.control('GET', '/alerts')).status).toBe(200);
    },
    { deadlineMs: 120_000 },
  );
}

const said = (request: ReceivedRequest): Json => JSON.parse(request.body.toString());

test('although control is killed, each failing destination causes just one alert', async () => {
  // Given alert webhooks whose first address is forbidden, and two failing endpoints, one with
  // `switchOffAfter`.
  const { sink, system } = stage;
  const webhooks = [{ url: 'http://169.254.169.254/ops' }, { url: sink.url('/ops') }];
  const settings = { webhooks, sharedSecret: SECRET, failingFor: `${FAILING_MS}ms` };
  expect((await system.control('PATCH', '/alerts', settings)).status).toBe(200);
  for (const path of ['/sick', '/hopeless']) sink.on(path, { status: 503 });
  const sick = await stage.connect({ webhooks: [{ url: sink.url('/sick') }] });
  const hopeless = await stage.connect({
    webhooks: [{ url: sink.url('/hopeless') }],
    switchOffAfter: '6s',
  });
  await Promise.all([sick.send(), hopeless.send()]);
  const [first] = await sink.waitFor(1, { path: '/sick' });

  // Then each causes one signed alert after the configured time. The forbidden address gets no
  // request, the other one does.
  const [failing] = await sink.waitFor(1, { path: '/ops', timeoutMs: 120_000 });
  expect(Date.parse(said(failing!).timestamp) - first!.at).toBeGreaterThanOrEqual(
    FAILING_MS - 1_000,
  );
  expect(isSignedBy(SECRET, failing!)).toBe(true);
  await killControl();
  await eventually(
    async () => {
      const { body } = await system.control(
        'GET',
        `/deliveries/${failing!.headers['webhook-id']!}`,
      );
      expect(body).toMatchObject({ destination: 'alerts', status: 'partly_delivered' });
      const outcomes = (body.attempts[0].urls as Json[]).map(({ outcome, error }) => [
        outcome,
        error?.code,
      ]);
      expect(outcomes.sort()).toEqual([
        ['delivered', undefined],
        ['rejected', 'forbidden_address'],
      ]);
    },
    { deadlineMs: 120_000 },
  );

  // Waypost switches one off, though control was killed; the other recovers.
  await eventually(
    async () => {
      const { body } = await system.control('GET', `/destinations/${hopeless.destination.id}`);
      expect(body).toMatchObject({ enabled: false, version: 2 });
    },
    { deadlineMs: 120_000 },
  );
  sink.on('/sick', { status: 200 });
  const alerts = (await sink.waitFor(4, { path: '/ops', timeoutMs: 120_000 })).map(said);
  const told = ({ destination }: Connection) =>
    alerts
      .filter(({ data }) => data.destination === destination.id)
      .map(({ type }) => type as string);
  expect(told(sick)).toEqual(['destination.failing', 'destination.recovered']);
  // Control may decide both together after the kill, and deliveries have no order.
  expect(told(hopeless).sort()).toEqual(['destination.failing', 'destination.switched_off']);
  // The notice is updated once Kafka has the event, perhaps after the alert has arrived.
  await eventually(async () => {
    const { body } = await system.control('GET', '/notices');
    expect((body.data as Json[]).map(({ alert }) => alert as string)).toEqual(
      Array(4).fill('sent'),
    );
  });
}, 600_000);

test('a failing token endpoint causes one alert with its cause and one of recovery', async () => {
  const { sink, system } = stage;
  const settings = { webhooks: [{ url: sink.url('/tokens-ops') }], failingFor: `${FAILING_MS}ms` };
  expect((await system.control('PATCH', '/alerts', settings)).status).toBe(200);
  sink.on('/token', { status: 500 });
  const auth = {
    type: 'oauth2',
    tokenUrl: sink.url('/token'),
    clientId: 'shop',
    clientSecret: 'a secret',
  };
  const { destination, send } = await stage.connect({
    webhooks: [Object.assign({ url: sink.url('/api') }, { auth })],
  });
  await send();
  const [failing] = await sink.waitFor(1, { path: '/tokens-ops', timeoutMs: 120_000 });
  const error =
    `${new URL(sink.url('/')).origin}: the token endpoint gave no token: it answered ` + '500';
  expect(said(failing!)).toMatchObject({
    type: 'destination.failing',
    data: { destination: destination.id, error },
  });
  expect(
    (await system.control('GET', `/destinations/${destination.id}/health`)).body,
  ).toMatchObject({
    state: 'failing',
    lastError: { code: 'token', message: error },
  });
  sink.on('/token', {
    status: 200,
    body: JSON.stringify({ access_token: 'ours', token_type: 'Bearer' }),
  });
  await sink.waitFor(1, { path: '/api', timeoutMs: 120_000 });
  const [, recovered] = await sink.waitFor(2, { path: '/tokens-ops', timeoutMs: 120_000 });
  expect(said(recovered!)).toMatchObject({
    type: 'destination.recovered',
    data: { destination: destination.id, since: said(failing!).data.since },
  });
  expect(sink.received('/tokens-ops')).toHaveLength(2);
}, 300_000);

test('alerts name an expiring certificate, a costly filter and a refusing URL', async () => {
  const { sink, system } = stage;
  expect(
    (await system.control('PATCH', '/alerts', { webhooks: [{ url: sink.url('/kinds') }] })).status,
  ).toBe(200);
  const DAY_MS = 86_400_000;
  const inDays = (days: number) => new Date(Date.now() + days * DAY_MS);
  const authority = makeCertificate({ name: 'ours', authority: true, notAfter: inDays(400) });
  const port = await freePort();
  const aServer = (days: number) =>
    startSink({ port, tls: makeCertificate({ issuer: authority, notAfter: inDays(days) }) });
  let server = await aServer(3);
  try {
    const webhooks = [{ url: server.url('/ending'), tls: { ca: authority.cert } }];
    const ending = await stage.connect({ webhooks });
    sink.on('/refuses', { status: 404 });
    const twoUrls = await stage.connect({
      webhooks: [{ url: sink.url('/takes') }, { url: sink.url('/refuses') }],
    });
    const filter = '!(2 in properties.list) && !(3 in properties.list)';
    const costly = await stage.connect({ webhooks: [{ url: sink.url('/costly') }], filter });
    await Promise.all([
      ending.send(),
      twoUrls.send(),
      costly.send(aTrack({ properties: { list: Array(5_000).fill(1) } })),
    ]);
    const kinds = {
      'destination.certificate_expiring': ending,
      'destination.partly_delivered': twoUrls,
      'destination.filter_costly': costly,
    };
    const told = () => sink.received('/kinds').map(said);
    await eventually(
      () => {
        const found = Object.fromEntries(told().map(({ type, data }) => [type, data.destination]));
        const wanted = Object.entries(kinds).map(([type, { destination }]) => [
          type,
          destination.id,
        ]);
        expect(found).toEqual(Object.fromEntries(wanted));
      },
      { deadlineMs: 120_000 },
    );
    // The server gets another certificate, and the filter is changed: both notices end, with an
    // alert each.
    await server.close();
    server = await aServer(90);
    await costly.change({ filter: 'type == "track"' });
    await eventually(
      async () => {
        await ending.send();
        const { body } = await system.control('GET', '/notices?open=true');
        const open = (body.data as Json[]).map(({ destination }) => destination as string);
        expect(
          open.filter((id) => [ending, costly].some(({ destination }) => destination.id === id)),
        ).toEqual([]);
        expect(told().filter(({ data }) => data.endedAt !== undefined)).toHaveLength(2);
      },
      { deadlineMs: 120_000 },
    );
  } finally {
    await server.close();
  }
}, 600_000);
