import { type Browser, type BrowserContextOptions } from 'playwright-core';
import { CHROMIUM, openBrowser, openTab, type Tab } from '../support/browser';
import { eventually } from '../support/eventually';
import { aTrack } from '../support/make';
import { openStage, type Stage } from '../support/stage';

/** The console in a real browser, on the whole system: what a person sees, and what the page must not hold. */

let stage: Stage;
let browser: Browser;
let tab: Tab;

const MINUTES = 3 * 60_000;
// A machine without a browser reports these as skipped; where CI is set that is a failure.
const story = CHROMIUM === undefined && process.env.CI === undefined ? test.skip : test;

beforeAll(async () => {
  if (story === test.skip) return;
  stage = await openStage({ env: { WAYPOST_TIMEOUT: '2s', WAYPOST_RETRY_DELAYS: '1s,2s' } });
  browser = await openBrowser();
}, MINUTES);
afterAll(async () => {
  if (story === test.skip) return;
  await browser.close();
  await stage.close();
}, MINUTES);
beforeEach(async () => {
  tab = await openTab(browser);
});
afterEach(async () => {
  await tab.close();
});

const at = (path: string) => `${stage.system.controlUrl}${path}`;

async function signIn(path: string, { page } = tab): Promise<void> {
  await page.goto(at(path));
  await page.getByLabel(/^Token/).fill(stage.system.adminToken);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
}

/** The page as it is now is good: no complaint, no barrier. */
async function isGood(name?: string): Promise<void> {
  expect(await tab.barriers()).toEqual([]);
  if (name !== undefined) await tab.shoot(name);
  expect(tab.complaints).toEqual([]);
}

story(
  'from signing in to the first event, live',
  async () => {
    const { page } = tab;
    await page.goto(at('/connect'));
    await page.getByRole('heading', { name: 'Waypost' }).waitFor();
    await isGood('sign-in');
    await signIn('/connect');
    expect(page.url()).toBe(at('/connect'));

    await page.getByRole('link', { name: 'Choose Webhooks' }).waitFor();
    await isGood('connect-1-integration');
    await page.getByRole('link', { name: 'Choose Webhooks' }).click();

    await page.getByLabel(/Name your first one|Or a new one, named/).fill('My shop');
    await page.getByRole('button', { name: 'Make this source' }).click();
    await expectChecked('My shop');
    await isGood('connect-2-sources');
    await page.getByRole('button', { name: 'Continue' }).click();

    const address = page.getByLabel('Address');
    await address.first().fill('nowhere');
    await page.getByText('It must start with http:// or https://').waitFor();
    expect(await page.getByRole('button', { name: 'Save and continue' }).isDisabled()).toBe(true);
    await address.first().fill(stage.sink.url('/first'));
    for (let i = 2; i <= 5; i++) {
      await page.getByRole('button', { name: 'Add another URL' }).click();
      await address.nth(i - 1).fill(stage.sink.url(`/further-${i}`));
    }
    expect(await page.getByRole('button', { name: 'Add another URL' }).count()).toBe(0);
    for (let i = 5; i > 2; i--) await page.getByRole('button', { name: `Remove URL ${i}` }).click();
    await isGood('connect-3-urls');
    await page.getByRole('button', { name: 'Save and continue' }).click();

    // Delivery may hear of the destination a moment after the page has.
    await eventually(
      async () => {
        await page.getByRole('button', { name: 'Send a test' }).click();
        await page.getByText('It arrived').waitFor({ timeout: 4_000 });
      },
      { deadlineMs: 30_000 },
    );
    await isGood('connect-4-test');
    await page.getByRole('link', { name: 'Continue' }).click();

    await page.getByLabel('Shared secret').fill('planted-shared-secret');
    await page.getByRole('button', { name: 'Add a header' }).first().click();
    await page.getByLabel('Header').first().fill('X-Api-Key');
    await page.getByLabel('Value').first().fill('planted-header-value');
    await page.getByLabel('At most so many requests a second').fill('50');
    await isGood('connect-5-settings');
    await page.getByRole('button', { name: 'Continue' }).click();

    await page.getByRole('button', { name: 'Switch on', exact: true }).waitFor();
    await isGood('connect-6-switch');
    await page.getByRole('button', { name: 'Switch on', exact: true }).click();
    await page.getByText('Waiting for the first event').waitFor();

    const { body } = await stage.system.control('GET', '/sources?limit=200');
    const source = body.data.find(({ name }: { name: string }) => name === 'My shop');
    // Until the router knows the destination, what is sent is not for it.
    await eventually(
      async () => {
        await stage.system.send(source.writeKey, 'track', aTrack());
        await page.getByText('Your first event has arrived').waitFor({ timeout: 2_000 });
      },
      { deadlineMs: 30_000 },
    );
    await isGood('connect-7-first-event');
    const [request] = stage.sink.received('/first').filter(({ headers }) => headers['x-api-key'] !== undefined);
    expect(request?.headers['x-api-key']).toBe('planted-header-value');
    expect(request?.headers['x-signature']).toMatch(/^[0-9a-f]{40}$/);
    await holdsNoSecret('planted-shared-secret', 'planted-header-value');
  },
  MINUTES,
);

async function expectChecked(name: string): Promise<void> {
  await eventually(async () => {
    if (!(await tab.page.getByRole('checkbox', { name }).isChecked())) throw new Error(`${name} is not chosen`);
  });
}

/** Neither the page, nor its address, nor what it has stored holds the token, or what else was planted. */
async function holdsNoSecret(...planted: string[]): Promise<void> {
  const held = await tab.evaluate(
    'location.href + document.documentElement.outerHTML + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.cookie' +
      " + [...document.querySelectorAll('input')].map((input) => input.value).join()",
  );
  for (const secret of [stage.system.adminToken, ...planted]) expect(String(held).includes(secret)).toBe(false);
}

story(
  'a failed delivery is found and replayed',
  async () => {
    const { page } = tab;
    stage.sink.on('/refuses', { status: 410, body: 'gone away' });
    const connection = await stage.connect({ name: 'Refusing', webhooks: [{ url: stage.sink.url('/refuses') }] });
    await connection.send(aTrack({ userId: 'user-lost' }));
    await stage.sink.waitFor(1, { path: '/refuses' });

    await signIn(`/deliveries?destination=${connection.destination.id}`);
    await page.getByLabel('User id').fill('user-lost');
    await page.getByLabel('User id').press('Enter');
    await page.getByLabel('Status').selectOption('dead');
    const row = page.getByRole('link', { name: /^track, dead/ });
    await row.waitFor();
    expect(page.url()).toContain('status=dead');
    await isGood('deliveries');
    await row.click();

    await page.getByText('The endpoint refused it for good').waitFor();
    await page.getByText('410').first().waitFor();
    await isGood('delivery');
    stage.sink.on('/refuses', { status: 200 });
    await page.getByRole('button', { name: 'Replay' }).click();
    await page.getByRole('dialog').getByText('Send it once more?').waitFor();
    await isGood();
    await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click();
    await page
      .getByText(/of replay 1/)
      .first()
      .waitFor();
    await page.getByLabel('Facts').getByText('delivered').waitFor();
    const sent = stage.sink.received('/refuses');
    expect(new Set(sent.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    await isGood('delivery-replayed');
  },
  MINUTES,
);

story(
  'a scope is previewed and replayed',
  async () => {
    const { page } = tab;
    stage.sink.on('/was-down', { status: 410 });
    const connection = await stage.connect({ name: 'Was down', webhooks: [{ url: stage.sink.url('/was-down') }] });
    for (let i = 0; i < 3; i++) await connection.send();
    await stage.sink.waitFor(3, { path: '/was-down' });
    stage.sink.clear();
    stage.sink.on('/was-down', { status: 200 });
    await eventually(async () => {
      const { body } = await stage.system.control(
        'GET',
        `/deliveries?destination=${connection.destination.id}&status=dead`,
      );
      if (body.data.length !== 3) throw new Error(`${body.data.length} are dead`);
    });

    await signIn(`/replays?destination=${connection.destination.id}`);
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByText('3 deliveries would be sent').waitFor();
    expect(stage.sink.received('/was-down')).toEqual([]);
    await isGood('replays');
    await page.getByRole('button', { name: 'Replay 3' }).click();
    await page.getByText('3 of 3 sent').waitFor();
    await page.getByLabel('Progress').getByText('done').waitFor();
    await stage.sink.waitFor(3, { path: '/was-down' });
    await isGood('replay');
  },
  MINUTES,
);

story(
  'the debugger shows calls as they come, accepted and rejected',
  async () => {
    const { page } = tab;
    const source = await stage.system.createSource('Live source');
    await signIn(`/debugger?source=${source.id}`);
    await page.getByText('live', { exact: true }).waitFor();
    await eventually(async () => {
      const answer = await stage.system.send(source.writeKey, 'track', aTrack({ event: 'Cart Viewed' }));
      expect(answer.status).toBe(200);
    });
    await page.getByText('track: Cart Viewed').first().waitFor();
    await stage.system.send(source.writeKey, 'batch', { batch: [{ type: 'track', event: 'Nobody Did It' }] });
    await page.getByText('track: Nobody Did It').waitFor();
    await isGood('debugger');
    await page.getByLabel('Show').selectOption('false');
    await page.getByText('track: Nobody Did It').waitFor();
    expect(await page.getByText('track: Cart Viewed').count()).toBe(0);
  },
  MINUTES,
);

story(
  'a session that has ended leads back to the same address by the sign-in',
  async () => {
    const { page } = tab;
    await signIn('/deliveries?status=dead');
    await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
    await page.context().clearCookies();
    await page.getByText('Your session has ended').waitFor();
    expect(page.url()).toBe(at('/deliveries?status=dead'));
    await page.getByLabel(/^Token/).fill('not the token at all');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('This token is not known').waitFor();
    await page.getByLabel(/^Token/).fill(stage.system.adminToken);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
    expect(page.url()).toBe(at('/deliveries?status=dead'));
    await holdsNoSecret();
    // The browser itself writes refused requests to its console: here they are the point, and all there is.
    expect(tab.complaints.filter((text) => !text.includes('401'))).toEqual([]);
  },
  MINUTES,
);

story(
  'of two who edit one destination the second sees what the first has changed',
  async () => {
    const { page } = tab;
    const source = await stage.system.createSource();
    const { id } = await stage.system.createDestination({
      name: 'Shared',
      sources: [source.id],
      webhooks: [{ url: stage.sink.url('/shared') }],
    });
    await signIn(`/destinations/${id}`);
    await page.getByLabel(/^Name/).fill('Mine');
    await isGood('destination');
    await stage.system.control('PATCH', `/destinations/${id}`, { maxPerSecond: 7 });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Somebody else has changed this destination meanwhile').waitFor();
    expect(await tab.barriers()).toEqual([]);
    await tab.shoot('destination-conflict');
    await page.getByRole('button', { name: 'Save mine, and keep theirs' }).click();
    await page.getByRole('heading', { name: 'Mine' }).waitFor();
    const { body } = await stage.system.control('GET', `/destinations/${id}`);
    expect(body).toMatchObject({ name: 'Mine', maxPerSecond: 7 });
    expect(tab.complaints.filter((text) => !text.includes('412'))).toEqual([]);
  },
  MINUTES,
);

const PLACES: [path: string, heading: string, name: string][] = [
  ['/', 'Overview', 'overview'],
  ['/destinations', 'Destinations', 'destinations'],
  ['/sources', 'Sources', 'sources'],
  ['/deletions', 'Deletions', 'deletions'],
  ['/audit', 'Audit', 'audit'],
  ['/tokens', 'Tokens', 'tokens'],
];

const LOOKS: [look: string, options: BrowserContextOptions, suffix: string][] = [
  ['in the light', {}, ''],
  ['in the dark', { colorScheme: 'dark' }, '-dark'],
  ['on a phone', { viewport: { width: 390, height: 800 } }, '-phone'],
];

story.each(LOOKS)(
  'every page can be read %s',
  async (_, options, suffix) => {
    await tab.close();
    tab = await openTab(browser, options);
    const { page } = tab;
    await signIn('/');
    const source = await stage.system.createSource('To be seen');
    for (const [path, heading, name] of [...PLACES, [`/sources/${source.id}`, 'To be seen', 'source'] as const]) {
      await page.goto(at(path));
      await page.getByRole('heading', { name: heading }).waitFor();
      await page.waitForLoadState('networkidle', { timeout: 3_000 }).catch(() => undefined);
      expect(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      await isGood(`${name}${suffix}`);
    }
    await page.goto(at('/no/such/page'));
    await page.getByText('There is nothing at this address').waitFor();
    await isGood();
  },
  MINUTES,
);
