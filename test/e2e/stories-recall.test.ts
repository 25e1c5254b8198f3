import { type Delivery, type Replay } from '../../shared/api/operations';
import { defined } from '../../shared/collections/defined';
import { DUE } from '../../shared/kafka/topics';
import { openTab, type Tab } from '../support/browser';
import { CHROMIUM_SHELL, openBrowser } from '../support/chromium';
import { testWith } from '../support/external-tools';
import { type Connection, openStorySystem, type StorySystem } from '../support/story-system';
import { eventually } from '../support/eventually';
import { readTopic } from '../support/topics';

/**
 * Deliveries that leave their tier early: sent now, cancelled, or because their endpoint recovered.
 */

/**
 * Longer than the history lags on a busy machine, and short enough to see that the copy in the tier
 * is dropped.
 */
const TIER_S = 40;
/** For deliveries that wait as long as a test runs. */
const LONG_TIER = '10m';
/** More than open a circuit. */
const MANY = 60;
/** Too few for that. */
const FEW = 2;
let stage: StorySystem;
beforeAll(async () => {
  stage = await openStorySystem({ env: { WAYPOST_RETRY_DELAYS: `${TIER_S}s,${LONG_TIER}` } });
});
afterAll(() => stage.close());

interface Answer<T> {
  status: number;
  body: T;
}

async function api<T>(method: string, path: string, body?: object): Promise<Answer<T>> {
  const { controlUrl, adminToken } = stage.system;
  const response = await fetch(`${controlUrl}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    ...defined({ body: body ? JSON.stringify(body) : undefined }),
  });
  return { status: response.status, body: (await response.json()) as T };
}

/** Waits until the history knows this many deliveries of the destination as under way. */
async function waiting({ destination }: Connection, count: number): Promise<Delivery[]> {
  return eventually(
    async () => {
      const { body } = await api<{ data: Delivery[] }>(
        'GET',
        `/deliveries?destination=${destination.id}&limit=200`,
      );
      const open = body.data.filter(
        ({ attemptsMade, status }) => attemptsMade > 0 || status === 'held',
      );
      expect(open).toHaveLength(count);
      return open;
    },
    { deadlineMs: 60_000 },
  );
}

async function ended(id: string): Promise<Replay> {
  return eventually(
    async () => {
      const { body } = await api<Replay>('GET', `/replays/${id}`);
      expect(body.status).toBe('done');
      return body;
    },
    { deadlineMs: 60_000 },
  );
}

/** Reads a counter of retry, the sum over its series. */
async function counted(name: string): Promise<number> {
  const port = stage.system.env.WAYPOST_RETRY_HEALTH_PORT!;
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const rows = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))];
  return rows.reduce((sum, [, value]) => sum + Number(value), 0);
}

const dropped = () => counted('waypost_retries_dropped_total');

/** Waits for a token, until its endpoint answers again. No other delivery comes. */
async function waitsForToken(): Promise<void> {
  const { sink } = stage;
  let works = false;
  const token = {
    body: '{"access_token":"planted-token","token_type":"Bearer","expires_in":3600}',
  };
  sink.on('/token', () => (works ? token : { status: 500 }));
  const auth = {
    type: 'oauth2',
    tokenUrl: sink.url('/token'),
    clientId: 'waypost',
    clientSecret: 'planted-secret',
  };
  const webhooks = [{ url: sink.url('/guarded'), auth }];
  const connection = await stage.connect({ webhooks });
  for (let i = 0; i < 5; i++) await connection.send();
  const held = await waiting(connection, 5);
  expect(held.map(({ reason, attemptsMade }) => [reason, attemptsMade])).toEqual(
    Array(5).fill(['token', 0]),
  );
  works = true;
  const requests = await sink.waitFor(5, { path: '/guarded', timeoutMs: 60_000 });
  expect(requests.map(({ headers }) => headers.authorization)).toEqual(
    Array(5).fill('Bearer planted-token'),
  );
}

test('a delivery is sent now, cancelled, or freed by a token, also after a kill', async () => {
  const { sink, system } = stage;
  sink.on('/now', [{ status: 503 }, {}]);
  sink.on('/unwanted', [{ status: 503 }, {}]);
  const now = await stage.connect({ webhooks: [{ url: sink.url('/now') }] });
  const unwanted = await stage.connect({ webhooks: [{ url: sink.url('/unwanted') }] });
  await now.send();
  await unwanted.send();
  const [{ id }, { id: unwantedId }] = [
    (await waiting(now, 1))[0]!,
    (await waiting(unwanted, 1))[0]!,
  ];
  expect(await api('POST', `/deliveries/${id}/retry`)).toMatchObject({
    status: 202,
    body: { id, action: 'retry' },
  });
  expect((await api('POST', `/deliveries/${unwantedId}/cancel`)).status).toBe(202);

  await sink.waitFor(2, { path: '/now' });
  // Kafka, not the process, remembers which deliveries have left.
  const pids = system.pids('retry');
  system.kill('retry');
  await eventually(() =>
    expect(system.pids('retry').filter((pid) => !pids.includes(pid))).toHaveLength(1),
  );
  await eventually(
    async () => {
      const { body } = await api<Delivery>('GET', `/deliveries/${id}`);
      expect(body).toMatchObject({ status: 'delivered', replay: 0, attemptsMade: 2 });
      expect(body.attempts.map(({ n }) => n)).toEqual([1, 2]);
      const other = await api<Delivery>('GET', `/deliveries/${unwantedId}`);
      expect(other.body).toMatchObject({
        status: 'cancelled',
        reason: 'cancelled_by_user',
        nextAttemptAt: null,
      });
    },
    { deadlineMs: 60_000 },
  );
  expect((await api('POST', `/deliveries/${id}/retry`)).status).toBe(409);
  expect((await api('POST', `/deliveries/${unwantedId}/cancel`)).status).toBe(409);
  await waitsForToken();
}, 240_000);

/** Sends calls until the circuit of the endpoint is open. @returns what waits for the circuit */
async function untilHeld(connection: Connection): Promise<Delivery[]> {
  for (let i = 0; i < MANY; i++) await connection.send();
  const open = await waiting(connection, MANY);
  const held = open.filter(({ reason }) => reason === 'circuit_open');
  expect(held.length).toBeGreaterThan(1);
  return held;
}

/**
 * Waits until deliveries are delivered, and expects that a recovery brought some back. On a busy
 * machine others come back by a probe, or by their tier, without a mark.
 */
async function cameEarly(deliveries: readonly Delivery[], destination: string): Promise<void> {
  const ids = deliveries.map(({ id }) => id);
  const attempts = new Map(deliveries.map(({ id, attemptsMade }) => [id, attemptsMade]));
  await eventually(
    async () => {
      const path = `/deliveries?destination=${destination}&limit=200`;
      const { body } = await api<{ data: Delivery[] }>('GET', path);
      const late = body.data.filter(
        ({ id, status, attemptsMade }) =>
          status !== 'delivered' && attemptsMade === attempts.get(id),
      );
      expect(late.map(({ id, status, reason }) => [id, status, reason])).toEqual([]);
    },
    { deadlineMs: 60_000 },
  );
  const due = await readTopic(stage.topics.kafka, DUE);
  const marks = due.flatMap(({ headers }) =>
    ids.includes(headers.delivery ?? '') ? [headers.recalled] : [],
  );
  expect(marks.length).toBeGreaterThanOrEqual(ids.length);
  expect(marks).toContain('recovered');
  expect(['probe', 'recovered', undefined]).toEqual(expect.arrayContaining([...new Set(marks)]));
}

/** Opens the console as administrator. */
async function signIn({ page }: Tab, path: string): Promise<void> {
  await page.goto(`${stage.system.controlUrl}${path}`);
  await page.getByLabel(/^Token/).fill(stage.system.adminToken);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
}

/** Presses a button, and the same button in the dialog that it opens. */
async function confirm({ page }: Tab, label: string, question: string): Promise<void> {
  await page.getByRole('button', { name: label, exact: true }).click();
  const dialog = page.getByRole('dialog', { name: question });
  await dialog.getByRole('button', { name: label, exact: true }).click();
}

testWith(
  CHROMIUM_SHELL,
  'an operator sends and cancels waiting deliveries in the console: one, several, and all ' +
    'of a destination',
  async () => {
    const { sink, system } = stage;
    let works = false;
    sink.on('/console', () => ({ status: works ? 200 : 503 }));
    const connection = await stage.connect({
      webhooks: [{ url: sink.url('/console') }],
      retry: { delays: [LONG_TIER] },
    });
    // Fewer than open a circuit.
    for (let i = 0; i < 4; i++) await connection.send();
    const [one, unwanted, ...rest] = await waiting(connection, 4);
    works = true;
    const browser = await openBrowser(CHROMIUM_SHELL);
    const tab = await openTab(browser);
    const { page } = tab;
    const at = (path: string) => `${system.controlUrl}${path}`;
    const isGood = async () => expect(await tab.barriers()).toEqual([]);
    const facts = page.getByRole('region', { name: 'Facts' });
    try {
      await signIn(tab, `/deliveries/${one!.id}`);
      await page.getByRole('button', { name: 'Send now' }).waitFor();
      await isGood();
      await confirm(tab, 'Send now', 'Send this delivery now?');
      await facts.getByText('delivered', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Send now' }).waitFor({ state: 'detached' });

      await page.goto(at(`/deliveries/${unwanted!.id}`));
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name: 'Cancel delivery' }).click();
      await page
        .getByRole('dialog', { name: 'Cancel this delivery?' })
        .getByRole('button', { name: 'Cancel delivery' })
        .click();
      await facts.getByText('cancelled', { exact: true }).waitFor();
      await facts.getByText('Someone cancelled it').waitFor();

      await page.goto(at(`/deliveries?destination=${connection.destination.id}`));
      await page.getByLabel(`Select delivery ${rest[0]!.id}`).check();
      await confirm(tab, 'Send 1 now', 'Send 1 delivery now?');
      await page.getByText('1 being sent').waitFor();
      await eventually(() => expect(sink.deliveries('/console').repeats).toBe(2));
      // The page counts what the history knows.
      const stillWaiting = `/deliveries?destination=${connection.destination.id}&status=retrying`;
      await eventually(async () => {
        expect((await api<{ data: Delivery[] }>('GET', stillWaiting)).body.data).toHaveLength(1);
      });

      await page.goto(at(`/destinations/${connection.destination.id}`));
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name: 'Send all now' }).click();
      const sendAll = page.getByRole('dialog', { name: 'Send 1 waiting message now?' });
      await sendAll.getByRole('button', { name: 'Send all now' }).click();
      await page.getByRole('heading', { name: 'Retry of all' }).waitFor();
      await page.getByText('1 delivered, 0 failed again').waitFor();
      await isGood();
      expect(sink.deliveries('/console')).toMatchObject({ distinct: 4, repeats: 3 });
      expect(tab.complaints.filter((text) => !text.includes('401'))).toEqual([]);
    } finally {
      await browser.close();
    }
  },
  300_000,
);

// After a test whose deliveries wait in another tier, and before tests whose copies would count
// too.
test('the copies of the first test are dropped when they fall due', async () => {
  await eventually(async () => expect(await dropped()).toBe(7), { deadlineMs: 120_000 });
  expect(['/now', '/unwanted', '/guarded'].map((path) => stage.sink.received(path).length)).toEqual(
    [2, 1, 5],
  );
});

test('a quiet endpoint that recovers is probed, and gets what waited for its circuit', async () => {
  const { sink } = stage;
  let works = false;
  sink.on('/quiet', () => ({ status: works ? 200 : 503 }));
  const webhooks = [{ url: sink.url('/quiet') }];
  const connection = await stage.connect({ webhooks, retry: { delays: [LONG_TIER] } });
  const held = await untilHeld(connection);
  works = true;
  await cameEarly(held, connection.destination.id);
}, 180_000);

test('a corrected URL gets what waited for the circuit of the wrong one', async () => {
  const { sink } = stage;
  sink.on('/wrong', { status: 503 });
  const webhooks = [{ url: sink.url('/wrong') }];
  const connection = await stage.connect({ webhooks, retry: { delays: [LONG_TIER] } });
  const held = await untilHeld(connection);
  await connection.change({ webhooks: [{ url: sink.url('/corrected') }] });
  await cameEarly(held, connection.destination.id);
  expect(sink.received('/corrected').length).toBeGreaterThanOrEqual(held.length);
}, 180_000);

test('the end of a pause sends what it held', async () => {
  const { sink } = stage;
  const connection = await stage.connect({ webhooks: [{ url: sink.url('/paused') }] });
  await connection.change({ paused: true });
  await stage.settled();
  for (let i = 0; i < FEW; i++) await connection.send();
  const held = await waiting(connection, FEW);
  expect(held.map(({ reason }) => reason)).toEqual(Array(FEW).fill('paused'));
  await connection.change({ paused: false });
  await cameEarly(held, connection.destination.id);
}, 180_000);

test('all that waits at a destination is sent now by a job that counts deliveries', async () => {
  const { sink } = stage;
  let works = false;
  const accepted: (string | undefined)[] = [];
  sink.on('/all', ({ headers }) => {
    if (!works) return { status: 503 };
    accepted.push(headers['webhook-id']);
    return {};
  });
  const connection = await stage.connect({ webhooks: [{ url: sink.url('/all') }] });
  for (let i = 0; i < MANY; i++) await connection.send();
  await waiting(connection, MANY);
  await connection.change({ paused: true });
  expect((await api('POST', `/destinations/${connection.destination.id}/retry`)).status).toBe(409);
  await connection.change({ paused: false });
  works = true;
  const started = await api<Replay>('POST', `/destinations/${connection.destination.id}/retry`, {
    maxPerSecond: 1_000,
  });
  expect(started).toMatchObject({
    status: 202,
    body: { action: 'retry', destination: connection.destination.id },
  });
  const done = await ended(started.body.id);
  await eventually(
    async () => {
      const { body } = await api<{ data: Delivery[] }>(
        'GET',
        `/deliveries?destination=${connection.destination.id}&status=delivered&limit=200`,
      );
      expect(body.data).toHaveLength(MANY);
    },
    { deadlineMs: 60_000 },
  );
  expect(done.asked).toBeGreaterThan(0);
  const { body } = await api<Replay>('GET', `/replays/${started.body.id}`);
  expect(body).toMatchObject({ delivered: body.asked, failedAgain: 0 });
  expect(accepted.toSorted()).toEqual([...new Set(accepted)].toSorted());
});

test('a job says how many of its deliveries a later job sent again', async () => {
  const { sink } = stage;
  let works = false;
  sink.on('/later', () => ({ status: works ? 200 : 503 }));
  const connection = await stage.connect({ webhooks: [{ url: sink.url('/later') }] });
  const path = `/destinations/${connection.destination.id}/retry`;
  for (let i = 0; i < FEW; i++) await connection.send();
  await waiting(connection, FEW);
  const first = await ended((await api<Replay>('POST', path)).body.id);
  const counts = async ({ id }: Replay) => {
    const { asked, delivered, failedAgain, superseded } = (
      await api<Replay>('GET', `/replays/${id}`)
    ).body;
    return { asked, delivered, failedAgain, superseded };
  };
  const failed = { asked: FEW, delivered: 0, failedAgain: FEW, superseded: 0 };
  await eventually(async () => expect(await counts(first)).toEqual(failed));
  works = true;
  const second = await ended((await api<Replay>('POST', path)).body.id);
  const delivered = { asked: FEW, delivered: FEW, failedAgain: 0, superseded: 0 };
  await eventually(async () => expect(await counts(second)).toEqual(delivered));
  expect(await counts(first)).toEqual({
    asked: FEW,
    delivered: 0,
    failedAgain: 0,
    superseded: FEW,
  });
}, 180_000);

test('all that waits at a destination is cancelled as a job', async () => {
  const { sink } = stage;
  sink.on('/never', () => ({ status: 503 }));
  const connection = await stage.connect({ webhooks: [{ url: sink.url('/never') }] });
  for (let i = 0; i < 5; i++) await connection.send();
  await waiting(connection, 5);
  const started = await api<Replay>('POST', `/destinations/${connection.destination.id}/cancel`);
  expect(started).toMatchObject({ status: 202, body: { action: 'cancel', delivered: null } });
  expect(await ended(started.body.id)).toMatchObject({ asked: 5, cancelled: 5 });
  await eventually(async () => {
    const { body } = await api<{ data: Delivery[] }>(
      'GET',
      `/deliveries?destination=${connection.destination.id}&status=cancelled`,
    );
    expect(body.data.map(({ reason }) => reason)).toEqual(Array(5).fill('cancelled_by_user'));
  });
});
