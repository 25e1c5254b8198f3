import { openStage, type Stage } from '../support/stage';
import { eventually } from '../support/eventually';
import { type Json } from '../support/system';
import { isSignedBy } from '../support/verify';

/** What Waypost tells of its own accord: a destination fails, is well again, or gives up. */

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const FAILING_MS = 3_000;

let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ env: { WAYPOST_RETRY_DELAYS: '300ms,600ms', WAYPOST_TIMEOUT: '1s' } });
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
    { deadlineMs: 60_000 },
  );
}

test('a failing destination is told of once, and so is its recovery, though control is killed in between', async () => {
  // Given an operational webhook, and an endpoint that fails; then one signed alert after the stated time.
  const { sink, system } = stage;
  const ops = { webhooks: [{ url: sink.url('/ops') }], sharedSecret: SECRET, failingFor: `${FAILING_MS}ms` };
  expect((await system.control('PATCH', '/alerts', ops)).status).toBe(200);
  sink.on('/sick', { status: 503 });
  const { send, destination } = await stage.connect({ webhooks: [{ url: sink.url('/sick') }] });
  await send();
  const [first] = await sink.waitFor(2, { path: '/sick' });
  await killControl();
  const [failing] = await sink.waitFor(1, { path: '/ops', timeoutMs: 60_000 });
  const said = (body: Buffer): Json => JSON.parse(body.toString());
  expect(said(failing!.body)).toMatchObject({
    type: 'destination.failing',
    data: { destination: destination.id, name: 'A destination' },
  });
  expect(Date.parse(said(failing!.body).timestamp) - first!.at).toBeGreaterThanOrEqual(FAILING_MS - 1_000);
  expect(isSignedBy(SECRET, failing!)).toBe(true);

  // Killed once more, while the console shows it as open; then it recovers.
  await killControl();
  const open = await system.control('GET', `/notices?destination=${destination.id}&open=true`);
  expect(open.body.data).toMatchObject([{ kind: 'failing', alert: 'sent', delivery: failing!.headers['webhook-id'] }]);
  sink.on('/sick', { status: 200 });
  const [, recovered] = await sink.waitFor(2, { path: '/ops', timeoutMs: 60_000 });
  expect(said(recovered!.body)).toMatchObject({
    type: 'destination.recovered',
    data: { destination: destination.id, since: said(failing!.body).data.since },
  });

  // A dead letter is the next that is told of: nothing was repeated in between.
  await killControl();
  sink.on('/sick', { status: 410 });
  await send();
  const requests = await sink.waitFor(3, { path: '/ops', timeoutMs: 60_000 });
  expect(requests.map(({ body }) => said(body).type as string)).toEqual([
    'destination.failing',
    'destination.recovered',
    'destination.dead_letters',
  ]);
  expect(new Set(requests.map(({ headers }) => headers['webhook-id'])).size).toBe(3);
}, 240_000);
