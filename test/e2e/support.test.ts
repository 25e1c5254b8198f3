import { type Browser, type BrowserContextOptions } from 'playwright-core';
import { defined } from '../../shared/collections/defined';
import { openTab, type Tab } from '../support/browser';
import { CHROMIUM_SHELL, openBrowser } from '../support/chromium';
import { waypost } from '../support/cli';
import { eventually } from '../support/eventually';
import { testWith } from '../support/external-tools';
import { aTrack } from '../support/factories';
import { freePort } from '../support/free-port';
import { type NameServer, startNameServer } from '../support/name-server';
import { openStorySystem, type StorySystem } from '../support/story-system';
import { type Source } from '../../tools/harness/api';
import { type Sink, startSink } from '../../tools/harness/sink';
import { assistantWith, firstHour, stateOf } from '../support/assistant';

/**
 * Support at night: two endpoints that work and nine that misbehave, each in its own way. A
 * customer's question "where is my order webhook?" is answered in the console with at most three
 * clicks, and by one command.
 */

const MINUTES = 5 * 60_000;
const USER = 'u-17';
// The probes of a story's system are completed orders.
const EVENT = 'Order Shipped';
const ORDER = 'order-4711';

let stage: StorySystem;
let shop: Source;
let names: NameServer;
let selfSigned: Sink;

interface Endpoint {
  url: string;
  /** the delivery in the list, at last */
  shows: { status?: string; lastStatusCode?: number | null; lastError?: { code: string } | null };
}
let endpoints: Record<string, Endpoint>;

beforeAll(async () => {
  names = await startNameServer({});
  selfSigned = await startSink({ tls: true });
  stage = await openStorySystem({
    env: {
      WAYPOST_TIMEOUT: '4s',
      WAYPOST_RETRY_DELAYS: '1s,2s',
      WAYPOST_DNS_SERVERS: names.address,
    },
    together: true,
  });
  const { sink } = stage;
  sink.on('/500', { status: 500, body: '{"error":"internal"}' });
  sink.on('/404', { status: 404 });
  sink.on('/recovers', [{ status: 503 }, { status: 200 }]);
  sink.on('/half', (_, nth) => ({ status: nth % 2 === 0 ? 500 : 200 }));
  sink.on('/hangs', { misbehave: 'hang' });
  sink.on('/redirects', { status: 302, headers: { location: '/elsewhere' } });
  sink.on('/gone', { status: 422 });
  const delivered = { status: 'delivered', lastStatusCode: 200, lastError: null };
  const failed = (code: string) => ({
    lastStatusCode: null,
    lastError: expect.objectContaining({ code }),
  });
  endpoints = {
    Works: { url: sink.url('/works'), shows: delivered },
    'Works too': { url: sink.url('/works-too'), shows: delivered },
    'Always 500': { url: sink.url('/500'), shows: { lastStatusCode: 500 } },
    'Not found': { url: sink.url('/404'), shows: { status: 'dead', lastStatusCode: 404 } },
    Recovers: { url: sink.url('/recovers'), shows: delivered },
    'Half the time': { url: sink.url('/half'), shows: delivered },
    Hangs: { url: sink.url('/hangs'), shows: failed('timeout') },
    Redirects: { url: sink.url('/redirects'), shows: { status: 'dead', lastStatusCode: 302 } },
    'Self-signed': { url: selfSigned.url('/hook'), shows: failed('tls') },
    'No name': { url: 'http://no-such-name.example/hook', shows: failed('dns') },
    Refuses: { url: `http://127.0.0.1:${await freePort()}/hook`, shows: failed('connection') },
  };
  shop = await stage.system.createSource('Web shop');
  for (const [name, { url }] of Object.entries(endpoints)) {
    await stage.system.createDestination({ name, sources: [shop.id], webhooks: [{ url }] });
  }
  await stage.settled();
  const order = { userId: USER, event: EVENT, properties: { orderId: ORDER, total: 42 } };
  await stage.system.send(shop.writeKey, 'track', aTrack({ userId: 'u-1', event: 'Cart Viewed' }));
  await stage.system.send(shop.writeKey, 'track', aTrack(order));
}, 2 * MINUTES);
afterAll(async () => {
  await stage.close();
  await selfSigned.close();
  await names.close();
}, MINUTES);

/**
 * The three ways to ask for the order: a filter of the API, what is typed into the search field,
 * its option, and its value.
 */
const QUESTIONS = [
  ['by the user', 'user', `user:${USER} `, '--user', USER],
  ['by the name of the event', 'event', `event:"${EVENT}" `, '--event', EVENT],
  ['by the number of the order in the body', 'q', ORDER, '--search', ORDER],
] as const;

test.each(QUESTIONS)(
  'the list shows what became of an order at each of eleven endpoints %s',
  async (_, filter, __, ___, value) => {
    const { body } = await stage.system.control('GET', '/destinations?limit=200');
    const nameOf = new Map(
      (body.data as { id: string; name: string }[]).map(({ id, name }) => [id, name]),
    );
    await eventually(
      async () => {
        const query = new URLSearchParams({ [filter]: value }).toString();
        const { body: found } = await stage.system.control('GET', `/deliveries?${query}`);
        const rows = (found.data as { destination: string }[]).map((row) => [
          nameOf.get(row.destination),
          row,
        ]);
        const expected = Object.entries(endpoints).map(([name, { shows }]) => [
          name,
          expect.objectContaining(shows),
        ]);
        expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(expected));
      },
      { deadlineMs: 120_000 },
    );
  },
  MINUTES,
);

test.each(QUESTIONS)(
  'one command answers where an order is %s',
  async (_, __, ___, option, value) => {
    const around = {
      env: { WAYPOST_URL: stage.system.controlUrl, WAYPOST_TOKEN: stage.system.adminToken },
    };
    const { code, out } = await waypost(['deliveries', option, value], around);
    expect(code).toBe(0);
    expect(out.trim().split('\n')).toHaveLength(1 + Object.keys(endpoints).length);
    expect(out).toMatch(/ dead +rejected +404 +Not found +track +Order Shipped +u-17 /);
    expect(out).toMatch(/ delivered +- +200 +Works too +track +Order Shipped +u-17 /);
    expect(out).toMatch(/ timeout +Hangs +track/);
    expect(out).toMatch(/ dns +No name +track/);
  },
);

describe('in the console', () => {
  let browser: Browser;
  let tab: Tab;
  let signedIn: BrowserContextOptions | undefined;
  /** clicks since the page was opened */
  let clicks: number;

  const needsBrowser = (name: string, tell: () => Promise<void>) =>
    testWith(CHROMIUM_SHELL, name, tell, MINUTES);
  const at = (path: string) => `${stage.system.controlUrl}${path}`;
  const click = async (role: 'link' | 'button', name: string | RegExp) => {
    clicks++;
    await tab.page
      .getByRole(role, {
        name,
        ...defined({ exact: typeof name === 'string' ? true : undefined }),
      })
      .click();
  };
  /** Opens the first page, as support does. */
  const begin = async () => {
    if (signedIn === undefined) {
      browser = await openBrowser(CHROMIUM_SHELL);
      tab = await openTab(browser);
      await tab.page.goto(at('/'));
      await tab.page.getByLabel(/^Token/).fill(stage.system.adminToken);
      await tab.page.getByRole('button', { name: 'Sign in' }).click();
      await tab.page.getByRole('navigation', { name: 'Pages' }).waitFor();
      signedIn = { storageState: await tab.page.context().storageState() };
    } else {
      tab = await openTab(browser, signedIn);
      await tab.page.goto(at('/'));
    }
    clicks = 0;
  };
  const isGood = async () => {
    expect(await tab.barriers()).toEqual([]);
    expect(tab.complaints).toEqual([]);
  };
  afterEach(() => tab.close());
  afterAll(() => browser.close());

  for (const [how, , typed] of QUESTIONS) {
    needsBrowser(
      `the question after an order is answered ${how} in three clicks or fewer`,
      async () => {
        await begin();
        const { page } = tab;
        await click('link', 'Deliveries');
        await page.getByLabel('Search in ids, events and bodies').fill(typed);
        // The list itself tells the cause at each endpoint.
        const rowOf = (name: string) =>
          page.getByRole('row').filter({ has: page.getByRole('cell', { name, exact: true }) });
        const table = page.getByRole('region', { name: 'Deliveries', exact: true });
        await eventually(async () => expect(await table.getByRole('row').count()).toBe(12));
        await rowOf('Not found').getByRole('cell', { name: '404', exact: true }).waitFor();
        await rowOf('Redirects').getByRole('cell', { name: '302', exact: true }).waitFor();
        await rowOf('Hangs').getByRole('cell', { name: 'no answer', exact: true }).waitFor();
        await rowOf('Self-signed').getByRole('cell', { name: 'TLS error', exact: true }).waitFor();
        await isGood();
        clicks++;
        await rowOf('Not found')
          .getByRole('link', { name: /^track: Order Shipped, dead/ })
          .click();
        await page
          .getByLabel('Facts')
          .getByText('The endpoint rejected it. It is not retried')
          .waitFor();
        await page
          .getByRole('group', { name: 'body', exact: true })
          .getByText(`"${ORDER}"`)
          .waitFor();
        expect(clicks).toBeLessThanOrEqual(3);
      },
    );
  }

  needsBrowser('the list of destinations and the page of each show their health', async () => {
    await begin();
    const { page } = tab;
    await click('link', 'Destinations');
    const rowOf = (name: string) =>
      page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
    await rowOf('Works').getByText('healthy', { exact: true }).waitFor();
    await rowOf('Works').getByRole('img', { name: '2 delivered, 0 attempts failed' }).waitFor();
    await rowOf('Always 500').getByText('failing', { exact: true }).waitFor();
    await rowOf('Always 500').getByText('HTTP 500').waitFor();
    await rowOf('Always 500').getByRole('link', { name: '2', exact: true }).waitFor();
    await rowOf('Hangs')
      .getByText(/^it does not answer in time/)
      .waitFor();
    await isGood();
    await click('link', 'Always 500');
    const health = page.getByRole('region', { name: 'Health' });
    await page.getByText(/^Failing since .*: HTTP 500$/).waitFor();
    await health.getByText('HTTP 500', { exact: true }).waitFor();
    await health.getByText(/^the oldest came/).waitFor();
    const attempts = page.getByRole('region', { name: 'Last attempts' });
    await eventually(async () =>
      expect(await attempts.getByRole('row').count()).toBeGreaterThan(3),
    );
    await isGood();

    // A number of the chart leads to its deliveries.
    await page.goto(at('/destinations'));
    await click('link', 'Not found');
    await page.getByText('As a table').click();
    const table = page.getByRole('region', { name: 'Deliveries over time' });
    await table.getByRole('row').last().getByRole('link').last().click();
    await page.waitForURL(/status=dead&endedSince=.*&endedUntil=/);
    await page.getByRole('link', { name: /^track: Order Shipped, dead/ }).waitFor();
    await page.getByText(/^1–(\d) of \1$/).waitFor();
    await isGood();
  });

  needsBrowser(
    'a delivery shows the URL that was called then, and a URL that failed beside another one',
    async () => {
      const { control, createDestination, send } = stage.system;
      const { body } = await control('GET', '/destinations?limit=200');
      const all = body.data as { id: string; name: string; webhooks: { id: string }[] }[];
      const notFound = all.find(({ name }) => name === 'Not found')!;
      const { body: dead } = await control(
        'GET',
        `/deliveries?destination=${notFound.id}&user=${USER}`,
      );
      const webhook = {
        id: notFound.webhooks[0]!.id,
        url: stage.sink.url('/elsewhere'),
        headers: {},
      };
      const changed = await control('PATCH', `/destinations/${notFound.id}`, {
        webhooks: [webhook],
      });
      expect(changed.status).toBe(200);
      const webhooks = [{ url: stage.sink.url('/works') }, { url: stage.sink.url('/500') }];
      await createDestination({ name: 'One of two', sources: [shop.id], webhooks });
      await stage.settled();
      await send(shop.writeKey, 'track', aTrack({ userId: 'u-2', event: 'Order Paid' }));

      await begin();
      const { page } = tab;
      await page.goto(at(`/deliveries/${String(dead.data[0].id)}`));
      await page.getByText(stage.sink.url('/404'), { exact: true }).waitFor();
      expect(await page.getByText(stage.sink.url('/elsewhere')).count()).toBe(0);
      await isGood();
      await page.goto(at('/deliveries?status=partly_delivered'));
      await page.getByRole('link', { name: /^track: Order Paid, partly delivered/ }).click();
      await page.getByLabel('Facts').getByText('partly delivered', { exact: true }).waitFor();
      await isGood();
    },
  );
});

describe('the first hour of an AI assistant', () => {
  test(
    'an assistant does twenty tasks with administrator tools, and none with a read-only token',
    async () => {
      const tasks = Object.entries(firstHour(stage, '/gone'));
      expect(tasks).toHaveLength(20);
      const use = assistantWith(stage, stage.system.adminToken);
      for (const [title, { given, act, shows }] of tasks) {
        await given?.();
        await act(use).catch((error: unknown) => {
          throw new Error(`The assistant did not ${title}`, { cause: error });
        });
        await shows();
      }

      const { body } = await stage.system.control('POST', '/tokens', {
        name: 'Reader',
        role: 'read_only',
      });
      const reader = assistantWith(stage, body.token as string);
      expect(await reader('list_deliveries', { user: USER, limit: 1 })).toMatchObject({
        data: [{ userId: USER }],
      });
      const before = await stateOf(stage);
      for (const [title, { act }] of tasks) {
        const problem = await act(reader).then(
          () => `A read-only token may ${title}`,
          () => undefined,
        );
        expect(problem).toBeUndefined();
      }
      const after = await stateOf(stage);
      expect(after.entries).toEqual(before.entries);
      expect(after.facts).toEqual(expect.arrayContaining(before.facts));
    },
    2 * MINUTES,
  );
});
