import { type Connection, openStorySystem, type StorySystem } from '../support/story-system';
import { eventually } from '../support/eventually';
import { type ReceivedRequest } from '../../tools/harness/sink';
import { type Json } from '../../tools/harness/api';
import { isSignedBy } from '../support/verify-signature';

/** Alerts: a destination fails, recovers, or is switched off. */

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const FAILING_MS = 2_000;

let stage: StorySystem;
beforeAll(async () => {
  stage = await openStorySystem({ env: { WAYPOST_RETRY_DELAYS: '300ms,600ms', WAYPOST_TIMEOUT: '1s' } });
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

test('each failing destination causes one alert, one is switched off and the other recovers, though control is killed', async () => {
  // Given alert webhooks whose first address is forbidden, and two failing endpoints, one with `switchOffAfter`.
  const { sink, system } = stage;
  const webhooks = [{ url: 'http://169.254.169.254/ops' }, { url: sink.url('/ops') }];
  const settings = { webhooks, sharedSecret: SECRET, failingFor: `${FAILING_MS}ms` };
  expect((await system.control('PATCH', '/alerts', settings)).status).toBe(200);
  for (const path of ['/sick', '/hopeless']) sink.on(path, { status: 503 });
  const sick = await stage.connect({ webhooks: [{ url: sink.url('/sick') }] });
  const hopeless = await stage.connect({ webhooks: [{ url: sink.url('/hopeless') }], switchOffAfter: '6s' });
  await Promise.all([sick.send(), hopeless.send()]);
  const [first] = await sink.waitFor(1, { path: '/sick' });

  // Then each causes one signed alert after the configured time. The forbidden address gets no request, the other one does.
  const [failing] = await sink.waitFor(1, { path: '/ops', timeoutMs: 120_000 });
  expect(Date.parse(said(failing!).timestamp) - first!.at).toBeGreaterThanOrEqual(FAILING_MS - 1_000);
  expect(isSignedBy(SECRET, failing!)).toBe(true);
  await killControl();
  await eventually(
    async () => {
      const { body } = await system.control('GET', `/deliveries/${failing!.headers['webhook-id']!}`);
      expect(body).toMatchObject({ destination: 'alerts', status: 'partly_delivered' });
      const outcomes = (body.attempts[0].urls as Json[]).map(({ outcome, error }) => [outcome, error?.code]);
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
    alerts.filter(({ data }) => data.destination === destination.id).map(({ type }) => type as string);
  expect(told(sick)).toEqual(['destination.failing', 'destination.recovered']);
  expect(told(hopeless)).toEqual(['destination.failing', 'destination.switched_off']);
  // The notice is updated once Kafka has the event, perhaps after the alert has arrived.
  await eventually(async () => {
    const { body } = await system.control('GET', '/notices');
    expect((body.data as Json[]).map(({ alert }) => alert as string)).toEqual(Array(4).fill('sent'));
  });
}, 600_000);
