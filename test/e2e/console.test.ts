import {
  type Browser,
  type BrowserContextOptions,
  type Locator,
  type Route,
} from 'playwright-core';
import { DOCS } from '../../console/src/lib/docs';
import { openSection, openTab, type Tab } from '../support/browser';
import { CHROMIUM_SHELL, openBrowser } from '../support/chromium';
import { eventually } from '../support/eventually';
import { aTrack, someTracks } from '../support/factories';
import { openStorySystem, type StorySystem } from '../support/story-system';
import { type Destination, type Source } from '../../tools/harness/api';
import { testWith } from '../support/external-tools';
import { administration } from '../support/console/administration';
import { audiences } from '../support/console/audiences';
import { endpoints } from '../support/console/endpoints';
import { consolePages, type Subjects, WIDER } from '../support/console/pages';
import { chooseMarkedTexts, unmarkedTexts } from '../support/console/texts';
import { libraryAccepts } from '../support/verify-signature';

/**
 * The console in a real browser, on the whole system: the visible pages, and secrets that no page
 * may contain.
 */

let stage: StorySystem;
let browser: Browser;
let tab: Tab;
/** session cookie of the first sign-in */
let signedIn: BrowserContextOptions;
let shop: Source;
let hooks: Record<'crm' | 'warehouse' | 'ledger', Destination>;

const MINUTES = 8 * 60_000;
const story = (name: string, tell: () => Promise<void>, timeoutMs: number) =>
  testWith(CHROMIUM_SHELL, name, tell, timeoutMs);

beforeAll(async () => {
  [stage, browser] = await Promise.all([
    openStorySystem({
      env: { WAYPOST_TIMEOUT: '2s', WAYPOST_RETRY_DELAYS: '1s,2s' },
      together: true,
    }),
    openBrowser(CHROMIUM_SHELL),
  ]);
  tab = await openTab(browser);
  await tab.page.goto(at('/'));
  await enter(stage.system.adminToken);
  signedIn = { storageState: await tab.page.context().storageState() };
  await tab.close();
  shop = await stage.system.createSource('Web shop');
  const connect = (name: string, path: string) =>
    stage.system.createDestination({
      name,
      sources: [shop.id],
      webhooks: [{ url: stage.sink.url(path) }],
    });
  hooks = {
    crm: await connect('CRM', '/crm'),
    warehouse: await connect('Warehouse', '/warehouse'),
    ledger: await connect('Ledger', '/ledger'),
  };
  stage.sink.on('/crm', { status: 422, body: 'gone away' });
  stage.sink.on('/warehouse', { status: 422 });
  await stage.settled();
  await forget('settled-1');
}, MINUTES);
afterAll(async () => {
  await browser.close();
  await stage.close();
}, MINUTES);
beforeEach(async () => {
  tab = await openTab(browser, signedIn);
});
afterEach(async () => {
  await tab.close();
});

/** Removes a source that the tests need, with its destination: the pages count theirs. */
async function forget(probe: string): Promise<void> {
  const { body: sources } = await stage.system.control('GET', '/sources');
  const { id } = sources.data.find(({ name }: { name: string }) => name === probe);
  const { body: destinations } = await stage.system.control('GET', '/destinations');
  const own = destinations.data.find(({ sources: of }: { sources: string[] }) => of.includes(id));
  await stage.system.control('DELETE', `/sources/${id}`);
  await stage.system.control('DELETE', `/destinations/${own.id}`);
}

const at = (path: string) => `${stage.system.controlUrl}${path}`;

/** A link of the navigation, which loads no page anew. */
const place = (name: string) =>
  tab.page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true });

/**
 * Signs in and waits for the session: leaving the page earlier would cancel the request that
 * creates it.
 */
async function enter(token: string): Promise<void> {
  const { page } = tab;
  await page.getByLabel(/^Token/).fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
}

/** Checks that the page reports no error and no accessibility violation. */
async function isGood(of = tab): Promise<void> {
  expect(await of.barriers()).toEqual([]);
  expect(of.complaints).toEqual([]);
}

/** Does the same in light mode, in dark mode and on a phone. */
async function isGoodEverywhere(of = tab): Promise<void> {
  const { page } = of;
  await isGood(of);
  await page.emulateMedia({ colorScheme: 'dark' });
  // Dark mode changes nothing else.
  expect(await of.barriers('color-contrast')).toEqual([]);
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 390, height: 800 });
  // Charts follow the width a moment later.
  await eventually(async () => expect(await of.evaluate(WIDER)).toEqual([]));
  await page.setViewportSize({ width: 1200, height: 800 });
}

/** A browser mostly waits for the answers to one page, so several tabs are faster. */
const TABS = 3;

/**
 * Looks at each item in one of several tabs, which have the session of `tab`.
 * @param begin prepares a tab, and returns what looks at an item in it
 */
async function inTabs<T>(
  items: readonly T[],
  begin: (own: Tab) => ((item: T) => Promise<void>) | Promise<(item: T) => Promise<void>>,
): Promise<void> {
  const storageState = await tab.page.context().storageState();
  const open = [...items];
  const work = async () => {
    const own = await openTab(browser, { storageState });
    const look = await begin(own);
    for (let item = open.shift(); item !== undefined; item = open.shift()) await look(item);
    await own.close();
  };
  await Promise.all(Array.from({ length: TABS }, work));
}

story(
  'an administrator connects a first source and destination and sees the first event live',
  async () => {
    const { page } = tab;
    await page.goto(at('/connect'));
    await page.getByLabel('Name of the source').fill('Mobile app');
    await page.getByRole('button', { name: 'Create source' }).click();
    await page.getByText('Mobile app', { exact: true }).waitFor();
    await isGoodEverywhere();
    await page.getByRole('button', { name: 'Continue' }).click();

    // A card fills what a person would look up, and leaves what they have typed.
    const address = page.getByLabel('Address');
    await page.getByRole('radio', { name: /^PagerDuty/ }).check();
    await eventually(async () =>
      expect(await address.inputValue()).toBe('https://events.pagerduty.com/v2/enqueue'),
    );
    await page.getByLabel('Routing key').waitFor();
    await page.getByText('PagerDuty does not check signatures').waitFor();
    await isGoodEverywhere();
    await page.getByRole('radio', { name: /^Webhook/ }).check();
    await page.getByText('PagerDuty does not check signatures').waitFor({ state: 'detached' });

    const steps = page.getByRole('list', { name: 'Steps' });
    await address.first().fill('nowhere');
    await page.getByText('It must start with http:// or https://').waitFor();
    await page.getByRole('button', { name: 'Save and continue', disabled: true }).waitFor();
    const warning = page.getByText('Waypost refuses to call 169.254.169.254 (metadata service');
    await address.first().fill('http://169.254.169.254/');
    await warning.waitFor();
    await address.first().fill(stage.sink.url('/first'));
    await warning.waitFor({ state: 'detached' });
    for (let i = 2; i <= 5; i++) {
      await page.getByRole('button', { name: 'Add another URL' }).click();
      await address.nth(i - 1).fill(stage.sink.url(`/further-${i}`));
    }
    await page.getByRole('button', { name: 'Add another URL' }).waitFor({ state: 'detached' });
    for (let i = 5; i > 2; i--) await page.getByRole('button', { name: `Remove URL ${i}` }).click();
    const secret = await page.getByLabel('Shared secret', { exact: true }).inputValue();
    expect(secret).toMatch(/^whsec_/);
    await page.getByRole('button', { name: 'Copy the shared secret' }).waitFor();
    await isGoodEverywhere();
    for (const path of ['/first', '/further-2']) {
      stage.sink.on(path, { status: 401, body: '{"why":"no_signature"}' });
    }
    await page.getByRole('button', { name: 'Save and continue' }).click();

    // A failed test says why, with the response open, and is not ticked off.
    const sendTest = async (says: string) => {
      // Delivery may read the destination a moment after the page.
      await eventually(
        async () => {
          await page.getByRole('button', { name: 'Send a test' }).click();
          await page.getByText(says).waitFor({ timeout: 4_000 });
        },
        { deadlineMs: 90_000 },
      );
    };
    await sendTest('Why: HTTP 401.');
    await page.getByText('It refuses the sender.').waitFor();
    await page.getByText('"no_signature"').waitFor();
    const asSent = page.getByRole('button', { name: 'As it was sent' });
    await asSent.click();
    await page.getByText('{"why":"no_signature"}').waitFor();
    await asSent.click();
    await steps.getByText('Test (failed)').waitFor();
    await page.getByRole('link', { name: 'Go on anyway' }).waitFor();
    const [refusedTest] = stage.sink.received('/first');
    expect(libraryAccepts(secret, refusedTest!)).toBe(true);
    const sent = await page.getByRole('group', { name: 'request headers' }).textContent();
    const { headers } = stage.sink.received('/first').at(-1)!;
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) {
      expect(sent).toContain(`${name}: ${String(headers[name])}`);
    }
    await isGoodEverywhere();
    await page.getByRole('link', { name: 'Go on anyway' }).click();
    await page.getByText('The test failed', { exact: true }).waitFor();
    await steps.getByText('Test (failed)').waitFor();
    await steps.getByRole('link', { name: 'Test' }).click();

    for (const path of ['/first', '/further-2']) stage.sink.on(path, { status: 200 });
    await sendTest('Test delivered');
    await page.getByText(stage.sink.url('/further-2')).waitFor();
    await steps.getByText('Test (done)').waitFor();
    await isGoodEverywhere();

    // Back to an earlier step, within the path. Another administrator saves first: neither change
    // is overwritten unseen.
    await page.getByRole('link', { name: 'Change the endpoint' }).click();
    await page.getByText('✓ Valid address').first().waitFor();
    const id = /\/connect\/([^/]+)\/endpoint/.exec(page.url())![1]!;
    await stage.system.control('PATCH', `/destinations/${id}`, { maxPerSecond: 50 });
    await page.getByLabel(/^Name/).fill('First receiver');
    await page.getByRole('button', { name: 'Save and test' }).click();
    await page.getByText('Someone else changed this while you were editing').waitFor();
    await page.getByRole('button', { name: 'Keep both changes' }).click();
    await page.getByRole('link', { name: 'Skip the test' }).waitFor();
    await refused(412);

    // Everything else is under Settings.
    await page.goto(at(`/destinations/${id}/settings`));
    await page.getByLabel('Replace the shared secret').fill('planted-shared-secret');
    await page.getByRole('button', { name: 'Add a header' }).first().click();
    await page.getByLabel('Header').first().fill('X-Api-Key');
    await page.getByLabel('Value').first().fill('planted-header-value');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('No unsaved changes').waitFor();

    await page.goto(at(`/connect/${id}/live`));
    await page.getByText('The endpoint is not tested').waitFor();
    await page.getByRole('button', { name: 'Enable', exact: true }).waitFor();
    const { body: stored } = await stage.system.control('GET', `/destinations/${id}`);
    expect(stored).toMatchObject({
      name: 'First receiver',
      maxPerSecond: 50,
      hasSharedSecret: true,
      enabled: false,
    });
    await isGoodEverywhere();
    await page.getByRole('button', { name: 'Enable', exact: true }).click();
    await page.getByText('Waiting for the first event').waitFor();

    // Send what the page's code sends, to its address.
    const code = (await page.getByRole('group', { name: 'code for curl' }).textContent())!;
    const [, ingest, key] = /curl (\S+)\/v1\/track -u '(\w+):'/.exec(code)!;
    expect(ingest).toBe(stage.system.ingestUrl);
    // Until the router knows the destination, it routes no call there.
    await eventually(
      async () => {
        await stage.system.send(key!, 'track', aTrack());
        await page.getByText('Your first event has arrived').waitFor({ timeout: 2_000 });
      },
      { deadlineMs: 90_000 },
    );
    await isGoodEverywhere();
    const [request] = stage.sink
      .received('/first')
      .filter(({ headers }) => headers['x-api-key'] !== undefined);
    expect(request?.headers['x-api-key']).toBe('planted-header-value');
    expect(request?.headers['x-signature']).toMatch(/^[0-9a-f]{40}$/);
    await holdsNoSecret('planted-shared-secret', 'planted-header-value');
  },
  MINUTES,
);

/**
 * Expects a refused request in the browser's console, which writes it by itself, and forgets it.
 */
async function refused(status: number): Promise<void> {
  const [first, ...others] = await eventually(() => {
    if (tab.complaints.length === 0) throw new Error('the console of the browser has no error');
    return tab.complaints.splice(0);
  });
  expect(first).toContain(String(status));
  tab.complaints.push(...others);
}

/**
 * Checks that neither the page nor its address nor its storage contains the token or another
 * planted secret.
 */
async function holdsNoSecret(...planted: string[]): Promise<void> {
  const held = await tab.evaluate(
    'location.href + document.documentElement.outerHTML + JSON.stringify(localStorage) + ' +
      'JSON.stringify(sessionStorage) + document.cookie' +
      " + [...document.querySelectorAll('input')].map((input) => input.value).join()",
  );
  for (const secret of [stage.system.adminToken, ...planted]) {
    expect(String(held).includes(secret)).toBe(false);
  }
}

/** Marks the text of a cell, as one does to copy it. That opens nothing. */
async function mark(cell: Locator): Promise<void> {
  const { mouse } = tab.page;
  const before = tab.page.url();
  const { x, y, width, height } = (await cell.boundingBox())!;
  await mouse.move(x + 1, y + height / 2);
  await mouse.down();
  await mouse.move(x + width - 1, y + height / 2, { steps: 5 });
  await mouse.up();
  expect(await tab.evaluate('getSelection().toString()')).toMatch(/\S/);
  expect(await tab.evaluate('location.href')).toBe(before);
}

/** Opens a menu by its button. */
async function openMenu(name: RegExp | string): Promise<void> {
  await tab.page.getByRole('button', { name }).click();
}

story(
  'an operator finds and replays a failed delivery, and replays a scope',
  async () => {
    const { page } = tab;
    await stage.system.send(
      shop.writeKey,
      'track',
      aTrack({ userId: 'user-lost', event: 'Order Lost' }),
    );
    await stage.sink.waitFor(1, { path: '/crm' });

    // While a filter changes, the page still shows the rows of the one before: only its id names
    // one row.
    const lost = await eventually(async () => {
      const { body } = await stage.system.control(
        'GET',
        `/deliveries?destination=${hooks.crm.id}&user=user-lost`,
      );
      return (body.data as { id: string }[])[0]!.id;
    });

    await page.goto(at(`/deliveries?destination=${hooks.crm.id}`));
    // Two filters in one turn, before the page shows the first.
    const search = page.getByLabel('Search in ids, events and bodies');
    await search.fill('type:track status:dead');
    await search.press('Enter');
    await page.waitForURL(
      (url) =>
        url.searchParams.get('type') === 'track' && url.searchParams.get('status') === 'dead',
    );
    await page.goto(at(`/deliveries?destination=${hooks.crm.id}`));
    // The filter applies while the user types.
    await search.fill('user:user-lost ');
    await page.waitForURL(/user=user-lost/);
    await page.getByRole('button', { name: 'Dead', exact: true }).click();
    const row = page.getByRole('link', {
      name: `track: Order Lost, dead, delivery ${lost}`,
      exact: true,
    });
    await row.waitFor();
    await page.waitForURL(/status=dead/);
    await page.getByRole('button', { name: 'Save this view' }).click();
    await page.getByLabel('Name of the view').fill('Dead of CRM');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const clear = page.getByRole('button', { name: 'Clear' });
    await clear.click();
    await clear.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Dead of CRM', exact: true }).click();
    await page.waitForURL(/user=user-lost/);
    await row.waitFor();
    await isGood();

    // A search marks what it found, and a click beside the link reads it beside the list.
    await search.fill('order lost');
    await row.locator('mark', { hasText: 'Order Lost' }).waitFor();
    await page.getByText('"order lost" in quotes finds exactly that value.').waitFor();
    await mark(page.locator(`[data-row="${lost}"] .c-destination`));
    await page.locator(`[data-row="${lost}"] .c-time`).click();
    await page.waitForURL(new RegExp(`panel=${lost}`));
    await page.getByRole('complementary', { name: 'Delivery' }).getByText('Timeline').waitFor();
    await isGood();
    await row.click();

    await page
      .getByLabel('Facts')
      .getByText('The endpoint rejected it. It is not retried')
      .waitFor();
    await page.getByText('422').first().waitFor();
    await page
      .getByLabel('Timeline')
      .getByText(/^Attempt 1: 422/)
      .waitFor();
    await page.getByRole('button', { name: 'Copy as curl' }).waitFor();
    await page.getByLabel('Facts').getByRole('link', { name: 'Web shop' }).waitFor();
    await page
      .getByRole('region', { name: 'The same event at other destinations' })
      .getByText(/[1-9]\d* dead/)
      .waitFor();
    expect(await page.locator('.head-actions button').allTextContents()).toEqual([
      'Replay',
      'Edit and send a test',
    ]);
    await isGoodEverywhere();

    // An edited copy goes out once, as a test, with an id of its own.
    stage.sink.clear();
    await page.getByRole('button', { name: 'Edit and send a test' }).click();
    const editor = page.getByRole('dialog');
    const message = JSON.parse(await editor.getByLabel('Message').inputValue()) as object;
    await editor.getByLabel('Message').fill(JSON.stringify({ ...message, userId: 'user-edited' }));
    await editor.getByRole('button', { name: 'Send a test' }).click();
    await editor.getByText('0 of 1 URL accepted it.').waitFor();
    await editor.getByText('failed', { exact: true }).first().waitFor();
    expect(String(stage.sink.received('/crm')[0]?.body)).toContain('user-edited');
    await isGood();
    await editor.getByRole('button', { name: 'Close' }).click();
    stage.sink.clear();

    stage.sink.on('/crm', { status: 200 });
    await page.getByRole('button', { name: 'Replay' }).click();
    await page.getByRole('dialog').getByText('Replay this delivery?').waitFor();
    await isGood();
    await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click();
    await page.getByRole('region', { name: /of replay 1$/ }).waitFor();
    await page.getByLabel('Facts').getByText('delivered', { exact: true }).waitFor();
    expect(
      stage.sink
        .received('/crm')
        .map(({ headers }) => `/deliveries/${headers['webhook-id'] ?? ''}`),
    ).toEqual([new URL(page.url()).pathname]);
    await page
      .getByRole('region', { name: 'Differences' })
      .getByRole('row', { name: /^Status 422 200/ })
      .waitFor();
    await isGood();

    // One URL of several gets it again.
    const [one, other] = ['/crm', '/crm-copy'].map((path) => stage.sink.url(path)) as [
      string,
      string,
    ];
    const setUrls = (...urls: string[]) =>
      stage.system.control('PATCH', `/destinations/${hooks.crm.id}`, {
        webhooks: urls.map((url) => ({ url })),
      });
    expect((await setUrls(one, other)).status).toBe(200);
    await page.getByRole('button', { name: 'Replay' }).click();
    const choice = page.getByRole('dialog');
    await choice.getByLabel('All URLs of the destination').uncheck();
    await choice.getByLabel(one, { exact: true }).uncheck();
    await isGood();
    await choice.getByRole('button', { name: 'Replay' }).click();
    await stage.sink.waitFor(1, { path: '/crm-copy' });
    expect(stage.sink.received('/crm')).toHaveLength(1);
    await page.getByText(/^Not called, .*\/crm$/).waitFor();
    await page.getByRole('button', { name: /^Attempt 1: 422/ }).click();
    const firstAttempt = page.getByRole('region', { name: 'Attempt 1', exact: true });
    await firstAttempt.getByText('gone away').waitFor();

    // All rows of a page, sent again at once, to one URL.
    await page.goto(at(`/deliveries?destination=${hooks.crm.id}&user=user-lost`));
    await page.getByLabel('Select all on this page').check();
    await page.getByRole('button', { name: 'Replay 1' }).click();
    await choice.getByLabel('All URLs of the destination').uncheck();
    await choice.getByLabel(other, { exact: true }).uncheck();
    await isGood();
    await choice.getByRole('button', { name: 'Replay 1' }).click();
    await page.getByText('1 replayed').waitFor();
    await stage.sink.waitFor(2, { path: '/crm' });
    expect(stage.sink.received('/crm-copy')).toHaveLength(1);
    expect((await setUrls(one)).status).toBe(200);

    stage.sink.clear();
    stage.sink.on('/warehouse', { status: 200 });
    await page.goto(at(`/replays?destination=${hooks.warehouse.id}`));
    const statuses = page.getByRole('form', { name: 'New replay' }).getByLabel('Status');
    expect(await statuses.locator('option').allTextContents()).not.toContain('waiting');
    await page.getByLabel('Only to URLs that failed').check();
    expect(await page.getByLabel('From', { exact: true }).inputValue()).toBe('messages');
    await page.getByLabel('Only to URLs that failed').uncheck();
    await page.getByLabel('From', { exact: true }).selectOption('dead_letters');
    await page.getByRole('button', { name: 'Preview' }).click();
    const preview = page.getByText(/^[1-9]\d* deliver(y|ies) would be sent/);
    const asked = parseInt((await preview.textContent())!, 10);
    expect(stage.sink.received('/warehouse')).toEqual([]);
    await isGood();
    await page.getByRole('button', { name: `Replay ${asked}`, exact: true }).click();
    await page.getByText(new RegExp(`^${asked} asked, \\d+ attempted`)).waitFor();
    await page.getByLabel('Progress').getByText('done').waitFor();
    await stage.sink.waitFor(asked, { path: '/warehouse' });
    await isGoodEverywhere();

    // Back to the list, whose rows lead on.
    await page
      .getByRole('navigation', { name: 'Path to this page' })
      .getByRole('link', { name: 'Replays' })
      .click();
    await page.getByRole('button', { name: 'New replay' }).click();
    await page.getByRole('form', { name: 'New replay' }).waitFor();
    const replays = page.getByRole('region', { name: 'Replays', exact: true });
    await replays.locator('tbody time').first().click();
    await page.waitForURL(/\/replays\/[^/?]+$/);
  },
  MINUTES,
);

/** Where somebody is on a page: the focus, its outline, and how far down. */
const PLACE =
  '[document.activeElement.tagName, getComputedStyle(document.activeElement).outlineStyle, ' +
  'scrollY]';
/** Row that has the focus. */
const FOCUSED = "document.activeElement.closest('[data-row]')?.dataset.row";
/** How often Tab leads on from the skip link to the first delivery of a list with two filters. */
const MOST_STOPS = 14;
/** Rows that have another colour than the first one. */
const COLOURED = `[...document.querySelectorAll('tr[data-row]')]
  .map((row) => [row.dataset.row, getComputedStyle(row).backgroundColor])
  .filter(([, colour], _, [first]) => colour !== first[1])
  .map(([row]) => row)`;

story(
  'by keyboard alone, a delivery is read beside its list, Back returns to its row, and a search ' +
    'leads everywhere',
  async () => {
    const { page } = tab;
    for (const event of ['First Read', 'Second Read']) {
      await stage.system.send(shop.writeKey, 'track', aTrack({ event, userId: 'user-read' }));
    }
    const list = `/deliveries?destination=${hooks.ledger.id}&user=user-read`;
    const [upper, lower] = await eventually(async () => {
      const { body } = await stage.system.control('GET', list);
      const found = (body.data as { id: string }[]).map(({ id }) => id);
      expect(found).toHaveLength(2);
      return found as [string, string];
    });
    await page.goto(at(list));
    await page.locator(`[data-row="${upper}"]`).waitFor();
    // The first stop skips the navigation.
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    let stops = 0;
    do {
      await page.keyboard.press('Tab');
      stops++;
    } while (stops < MOST_STOPS && (await tab.evaluate(FOCUSED)) !== upper);
    expect(await tab.evaluate(FOCUSED)).toBe(upper);
    const panel = page.getByRole('complementary', { name: 'Delivery' });
    await page.locator(`[data-row="${upper}"] a`).focus();
    await page.keyboard.press('Space');
    await panel.getByText('Timeline').waitFor();
    await page.waitForURL(new RegExp(`panel=${upper}`));
    await page.keyboard.press('ArrowDown');
    await page.waitForURL(new RegExp(`panel=${lower}`));
    await panel.getByRole('group', { name: 'body', exact: true }).waitFor();
    expect(await tab.evaluate(FOCUSED)).toBe(lower);
    await isGood();
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });

    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /^(First|Second) Read → / }).waitFor();
    // A page that is left half-way down does not leave the next one there.
    await eventually(async () => {
      await page.mouse.wheel(0, 300);
      expect(await tab.evaluate('scrollY')).toBeGreaterThan(0);
    });
    await page.getByRole('link', { name: 'Audit', exact: true }).click();
    await page.getByRole('heading', { name: 'Audit' }).waitFor();
    expect(await tab.evaluate(PLACE)).toEqual(['MAIN', 'none', 0]);
    await page.goBack();
    await page.getByRole('heading', { name: /^(First|Second) Read → / }).waitFor();
    await page.goBack();
    await eventually(async () => expect(await tab.evaluate(FOCUSED)).toBe(lower));

    // Filters by a name, whose part is enough.
    await page.keyboard.press('/');
    await page.keyboard.type('destination:crm ');
    await page.waitForURL(new RegExp(`destination=${hooks.crm.id}`));
    await page.getByRole('button', { name: 'Remove the filter destination: CRM' }).waitFor();

    await page.keyboard.press('Control+k');
    const search = page.getByRole('combobox', { name: 'What are you looking for?' });
    await search.fill('wareh');
    await page.getByRole('option', { name: 'Warehouse', exact: true }).waitFor();
    await isGood();
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/destinations/${hooks.warehouse.id}$`));
    await page.getByRole('navigation', { name: 'Parts of this destination' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await isGood();
  },
  MINUTES,
);

story(
  'a notice is on every page until it is acknowledged, and an administrator sets an alert webhook',
  async () => {
    const { page } = tab;
    await page.goto(at('/notices'));
    await page
      .getByRole('navigation', { name: 'Notices' })
      .getByRole('link', { name: 'Alerts' })
      .click();
    // Nothing is sent to nobody.
    await page.getByText('Nobody gets them yet').waitFor();
    const sends = page.getByLabel('Send alerts');
    expect([await sends.isChecked(), await sends.isDisabled()]).toEqual([false, true]);
    await page.getByRole('button', { name: 'Add a URL' }).click();
    expect([await sends.isChecked(), await sends.isDisabled()]).toEqual([true, false]);
    await page.getByLabel('Address').fill(stage.sink.url('/ops'));
    await page.getByLabel('Failing after').fill('soon');
    await page.getByRole('button', { name: 'Save', exact: true, disabled: true }).waitFor();
    await page.getByLabel('Failing after').fill('90s');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    await page.getByText('No unsaved changes').waitFor();
    await page.getByRole('button', { name: 'Send a sample' }).click();
    await page.getByText('Test delivered').waitFor();
    await stage.sink.waitFor(1, { path: '/ops' });
    await isGood();

    // Dead letters of the tests before this one.
    await page.getByRole('link', { name: /^\d notices?$/ }).click();
    const row = page.getByRole('row', { name: /dead letters CRM/ });
    await row.waitFor();
    await isGood();
    await row.getByRole('button', { name: /^Acknowledge/ }).click();
    await row.waitFor({ state: 'detached' });
    await page.waitForURL(/acknowledged=false/);
    await isGood();
  },
  MINUTES,
);

story(
  'the debugger shows accepted and rejected calls live',
  async () => {
    const { page } = tab;
    await page.goto(at(`/debugger?source=${shop.id}`));
    await page.getByText('live', { exact: true }).waitFor();
    // A number and a time are shown as they are.
    await fetch(`${stage.system.ingestUrl}/v1/track`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${shop.writeKey}:`)}` },
      body: '{"userId":"u","event":"Back Filled","timestamp":"soon","properties":{"id":7615917337495251231}}',
    });
    await page.getByText('track: Back Filled').click();
    await page.locator('.json-number', { hasText: '7615917337495251231' }).waitFor();
    await page.getByText('Its time could not be read. It has the time of its receipt.').waitFor();
    await isGood();
    await stage.system.send(shop.writeKey, 'track', aTrack({ event: 'Cart Viewed' }));
    await page.getByText('track: Cart Viewed').waitFor();
    await stage.system.send(shop.writeKey, 'batch', {
      batch: [{ type: 'track', event: 'Nobody Did It' }],
    });
    await page.getByText('track: Nobody Did It').waitFor();
    await isGood();
    await page.getByLabel('Show', { exact: true }).selectOption('false');
    await page.getByText('track: Cart Viewed').waitFor({ state: 'detached' });
    await page.getByText('track: Nobody Did It').waitFor();

    // From a call to its delivery.
    await page.getByLabel('Show', { exact: true }).selectOption('');
    await page.getByText('track: Cart Viewed').first().click();
    const reached = page.getByRole('list', { name: 'Destinations' });
    await reached.getByText('delivered', { exact: true }).first().waitFor();
    await page.getByRole('link', { name: 'Show the delivery to Ledger' }).first().click();
    await page.getByRole('link', { name: /^track.*, delivered/ }).waitFor();
    await isGood();
  },
  MINUTES,
);

story(
  'a filter is checked while it is typed, an event is blocked, and the debugger says why ' +
    'calls are not delivered',
  async () => {
    const { page } = tab;
    const { id } = hooks.ledger;
    const nobody = { batch: [{ type: 'track', event: 'Nobody Did It' }] };
    await stage.system.send(shop.writeKey, 'batch', nobody);
    await page.goto(at(`/destinations/${id}/settings`));
    const filter = page.getByLabel('Filter', { exact: true });
    await filter.fill('event = "Cart Viewed"');
    await page.getByText('Line 1, column 7').waitFor();
    await isGood();
    await filter.fill('event == "Cart Viewed" && properties.total > 100');
    await page.getByText(/It matches \d+ of the last \d+ events?/).waitFor();
    await page.getByRole('button', { name: 'Show events' }).click();
    await page
      .getByRole('region', { name: 'Filter results' })
      .getByText('track: Cart Viewed')
      .first()
      .waitFor();
    await isGood();
    await filter.fill('event == "Nothing"');

    // Leaving the page would lose the edits.
    await page.getByRole('link', { name: 'Tokens' }).click();
    await page.getByRole('dialog', { name: 'Leave without saving?' }).waitFor();
    await isGood();
    await page.getByRole('button', { name: 'Stay' }).click();
    await page.getByText('unsigned', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Generate a secret' }).click();
    const secret = page.getByLabel('Shared secret', { exact: true });
    await eventually(async () => expect(await secret.inputValue()).toMatch(/^whsec_/));
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    await page.getByText('unsigned', { exact: true }).waitFor({ state: 'detached' });
    const replaced = page.getByLabel('Replace the shared secret');
    await eventually(async () => expect(await replaced.inputValue()).toBe(''));
    await eventually(async () => {
      const { body } = await stage.system.control('GET', `/destinations/${id}`);
      expect(body).toMatchObject({ filter: 'event == "Nothing"' });
    });

    await page.goto(at(`/sources/${shop.id}/settings`));
    await page.getByText('No request exceeded the limits in the last 24 hours.').waitFor();
    await isGood();
    await page.goto(at(`/sources/${shop.id}`));
    await page.getByText('Calls a minute').waitFor();
    const reasons = page.getByRole('list', { name: 'Why calls were rejected' });
    await reasons.getByRole('listitem').first().waitFor();
    await page.getByRole('button', { name: 'Block Cart Viewed' }).click();
    await page.getByRole('button', { name: 'Unblock Cart Viewed' }).waitFor();
    await isGood();
    // The services know a change a moment after its page: until then calls are delivered.
    const showsWhy = async (event: string, why: string) => {
      let n = 0;
      await eventually(
        async () => {
          const userId = `user-${event} ${String(n++)}`;
          await stage.system.send(shop.writeKey, 'track', aTrack({ event, userId }));
          await page.goto(at(`/debugger?source=${shop.id}`));
          const row = page.locator('.events > li').filter({ hasText: userId });
          await row.getByText(`track: ${event}`).click();
          await row.getByText(`Ledger: ${why}`).waitFor({ timeout: 4_000 });
        },
        { deadlineMs: 60_000 },
      );
    };
    await showsWhy('Cart Viewed', 'the source blocks this event');
    await isGood();
    // One that came before it was blocked says what became of it.
    const earlier = page
      .locator('.events > li')
      .filter({ hasText: 'track: Cart Viewed' })
      .filter({ hasText: 'by user-1,' });
    await earlier.getByText('track: Cart Viewed').click();
    await earlier.getByRole('link', { name: 'Show the delivery to Ledger' }).waitFor();
    await earlier.getByText('delivered', { exact: true }).first().waitFor();

    await page.goto(at(`/sources/${shop.id}`));
    await page.getByRole('button', { name: 'Unblock Cart Viewed' }).click();
    await page.getByRole('button', { name: 'Block Cart Viewed', exact: true }).waitFor();
    await showsWhy('Cart Left', 'its filter does not match');
    await stage.system.control('PATCH', `/destinations/${id}`, { filter: null });
  },
  MINUTES,
);

story(
  'when two people edit a destination, the second sees the change of the first',
  async () => {
    const { page } = tab;
    const { id } = hooks.ledger;
    await page.goto(at(`/destinations/${id}/settings`));
    await page.getByLabel(/^Name/).fill('General ledger');
    await stage.system.control('PATCH', `/destinations/${id}`, { maxPerSecond: 7 });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Someone else changed this while you were editing').waitFor();
    await refused(412);
    await isGood();
    await page.getByRole('button', { name: 'Keep both changes' }).click();
    await page.getByRole('heading', { name: 'General ledger' }).waitFor();
    const { body } = await stage.system.control('GET', `/destinations/${id}`);
    expect(body).toMatchObject({ name: 'General ledger', maxPerSecond: 7 });
  },
  MINUTES,
);

/** Makes one of everything that has a page, beside the sources and destinations of all tests. */
async function makeSubjects(): Promise<Subjects> {
  const { control } = stage.system;
  const destination = hooks.crm.id;
  const made = async (path: string, body: object) =>
    ((await control('POST', path, body)).body as { id: string }).id;
  await stage.system.send(shop.writeKey, 'track', aTrack({ userId: 'user-1' }));
  const delivery = await eventually(async () => {
    const { body } = await control('GET', `/deliveries?destination=${destination}&limit=1`);
    return (body.data as { id: string }[])[0]!.id;
  });
  const common = { sources: [shop.id], destinations: [] };
  const condition = 'user.traits.plan == "pro"';
  const counts = { compute: 'count', event: 'Order Completed' };
  return {
    destination,
    source: shop.id,
    delivery,
    replay: await made('/replays', { destination, preview: true }),
    audience: await made('/audiences', { ...common, name: 'Subject', condition }),
    trait: await made('/computed-traits', { ...common, name: 'Subject count', ...counts }),
    user: 'user-1',
  };
}

/** Other tests begin without audiences and traits. */
async function removeSubjects({ audience, trait }: Subjects): Promise<void> {
  await stage.system.control('DELETE', `/audiences/${audience}`);
  await stage.system.control('DELETE', `/computed-traits/${trait}`);
}

/** Pages that only administrators use. */
const FOR_ADMINS = /^\/(connect|tokens|audit|alerts|deletions)/;

/** Drags the mouse over a part of a chart: by default over the middle. */
async function drag(chart: Locator, from = 0.4, to = 0.6): Promise<void> {
  const box = (await chart.locator('.recharts-wrapper, [role=img]').first().boundingBox())!;
  const y = box.y + box.height / 2;
  await tab.page.mouse.move(box.x + box.width * from, y);
  await tab.page.mouse.down();
  await tab.page.mouse.move(box.x + box.width * to, y, { steps: 5 });
  await tab.page.mouse.up();
}

story(
  'all charts show the moment under the pointer and what happened, and the time of a list is ' +
    'chosen by dragging or by keyboard',
  async () => {
    const { page } = tab;
    // It dies at two destinations.
    await stage.system.send(shop.writeKey, 'track', aTrack());
    await page.goto(at('/?span=1h'));
    await eventually(async () => expect(await page.locator('.charts figure').count()).toBe(4));
    await page.getByText(/^[1-9]\d* accepted, \d+ rejected/).waitFor();
    await page
      .locator('.headline')
      .getByText(/^(No destination of \d+ fails|\d+ of \d+ destinations fails?|\d+ degraded)$/)
      .waitFor();
    const needsAttention = page.getByRole('region', { name: 'Needs attention' });
    const mostUrgent = needsAttention.locator('tbody tr').first();
    await mostUrgent.locator('[data-label=Dead]', { hasText: /^[1-9]/ }).waitFor();
    await mostUrgent.locator('[data-label=Why]', { hasText: /^HTTP 422/ }).waitFor();
    const chart = page.locator('figure').filter({ hasText: /^Deliveries/ });
    const shown = page.locator('.charts [class*=tooltipLabel]');
    const drawnIn = (title: RegExp) =>
      page
        .locator('figure')
        .filter({ hasText: title })
        .locator('[class*=tooltipItemName]')
        .allTextContents();
    await eventually(async () => {
      const box = (await chart.locator('.recharts-wrapper').boundingBox())!;
      await page.mouse.move(box.x + box.width * 0.6, box.y + box.height / 2);
      await page.mouse.move(box.x + box.width * 0.7, box.y + box.height / 2, { steps: 3 });
      const moments = await shown.allTextContents();
      expect(moments.length).toBeGreaterThan(1);
      expect(new Set(moments).size).toBe(1);
      // What died has failed attempts too: in one stack it would count twice.
      expect(await drawnIn(/^Deliveries/)).toEqual(['Delivered', 'Dead']);
      expect(await drawnIn(/^Failed attempts/)).toEqual(['Failed attempts']);
    });
    // The area between two lines is no third value.
    const latencies = page.locator('figure').filter({ hasText: /^From acceptance/ });
    expect(await latencies.locator('.between path').count()).toBeGreaterThan(0);
    await eventually(async () => {
      await latencies.locator('circle.recharts-line-dot').last().hover({ force: true });
      expect(await drawnIn(/^From acceptance/)).toEqual(['p50', 'p95']);
    });
    // The last bar still grows.
    const running = chart.locator('.recharts-reference-area');
    expect(await running.count()).toBe(1);
    expect(await running.locator('[fill^="url(#"]').count()).toBe(1);
    const happened = page.getByRole('list', { name: 'Notices and changes' });
    await happened.getByRole('link').first().waitFor();
    expect(await chart.locator('.recharts-reference-line').count()).toBeGreaterThan(0);
    await isGood();

    // Nothing was sent before the system was there.
    await eventually(async () => {
      await drag(chart, 0.25, 0.4);
      await page.waitForURL(/since=.*until=/, { timeout: 2_000 });
    });
    await page.getByText('No attempt failed').waitFor();
    await page.getByRole('link', { name: 'Send an event' }).first().waitFor();
    await isGood();

    await page.goto(at('/deliveries'));
    const histogram = page.locator('.histogram');
    await histogram.getByText(/^Ended: [1-9]/).waitFor();
    await eventually(async () => {
      await drag(histogram, 0.02, 0.98);
      await page.waitForURL(/endedSince=.*&endedUntil=/, { timeout: 2_000 });
    });
    await page.getByRole('button', { name: /^Remove the filter endedSince/ }).waitFor();
    await page
      .getByRole('link', { name: /^track/ })
      .first()
      .waitFor();
    await isGood();
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByLabel('Time', { exact: true }).selectOption('Ended between …');
    await page.waitForURL(/endedSince=/);
    await page.getByLabel('Ended before').fill('2020-01-01T00:00');
    await page.getByText('Nothing matches').waitFor();
    await isGood();
  },
  MINUTES,
);

story(
  'a part of a page whose file an upgrade has replaced comes with the new page',
  async () => {
    const { page } = tab;
    await page.goto(at('/destinations'));
    let isReplaced = true;
    page.on('request', (request) => {
      if (request.isNavigationRequest()) isReplaced = false;
    });
    await page.route(/\/assets\/.*\.js$/, (route) =>
      isReplaced ? route.fulfill({ status: 404 }) : route.continue(),
    );
    await page.getByRole('link', { name: 'CRM', exact: true }).click();
    await page.locator('.charts figure').first().waitFor();
    expect(page.url()).toBe(at(`/destinations/${hooks.crm.id}`));
    await page.getByText('1 h', { exact: true }).click();
    await page.getByText('Dead, 1 h').waitFor();
  },
  MINUTES,
);

story(
  'charts lead to what they count, the appearance is chosen, and a read-only token sees the same ' +
    'pages without what it may not do',
  async () => {
    const { body: token } = await stage.system.control('POST', '/tokens', {
      name: 'Support',
      role: 'read_only',
    });
    const subjects = await makeSubjects();
    // Signing out ends a session for good, and the other tests share theirs.
    await tab.close();
    tab = await openTab(browser);
    const { page } = tab;
    await page.goto(at('/'));
    await page.getByText('keeps it in .waypost/admin-token').waitFor();
    await isGoodEverywhere();
    await enter(stage.system.adminToken);
    // One step is not done, so the list of the first steps is there.
    await stage.system.control('PATCH', '/alerts', { webhooks: [] });
    await stage.system.control('PATCH', `/destinations/${hooks.crm.id}`, {
      sharedSecret: 'a secret of the first steps',
    });
    await page.goto(at('/'));
    // A card would have a heading.
    const steps = page.getByRole('region', { name: 'First steps' });
    await steps.getByText('5 of 6 first steps done').waitFor();
    expect(await steps.getByRole('heading').count()).toBe(0);
    await page.getByText('As a table').click();
    await page
      .getByRole('region', { name: 'Deliveries over time' })
      .getByRole('link')
      .first()
      .click();
    await page.waitForURL(/deliveries\?endedSince=.*endedUntil=.*counted=true/);
    await page
      .getByRole('link', { name: /^track/ })
      .first()
      .waitFor();
    await page.goto(at('/'));
    // While a chart loads, the others move.
    await eventually(async () => expect(await page.locator('figure').count()).toBe(4));
    const deliveries = page.locator('figure').filter({ hasText: /^Deliveries/ });
    await deliveries.locator('.recharts-bar').first().locator('path').last().click();
    await page.waitForURL(/deliveries\?status=delivered&endedSince=.*endedUntil=/);
    await page.goBack();
    await eventually(async () => expect(await page.locator('figure').count()).toBe(4));
    // A chart that moves during the gesture takes none of it.
    await eventually(async () => {
      await drag(deliveries);
      await page.waitForURL(/since=.*until=/, { timeout: 2_000 });
    });
    await page.getByRole('button', { name: 'Zoom out' }).click();
    await page.waitForURL((url) => url.search === '');
    await openMenu(/^Signed in/);
    const hrefOf = (name: string) =>
      page.getByRole('menuitem', { name, exact: true }).getAttribute('href');
    expect(await hrefOf('Documentation')).toBe(DOCS.start);
    expect(await hrefOf('API reference')).toBe(DOCS.api);
    expect(await hrefOf('OpenAPI (JSON)')).toBe('/api/v1/openapi.json');
    await page.getByRole('menuitem', { name: 'Appearance: system' }).click();
    await page.getByRole('menuitem', { name: 'Appearance: light' }).click();
    await page.locator('html[data-mantine-color-scheme=dark]').waitFor();
    expect(await tab.barriers('color-contrast')).toEqual([]);
    await page.getByRole('menuitem', { name: 'Appearance: dark' }).click();
    await page.goto(at('/no/such/page'));
    await page.getByText('Nothing is at this address').waitFor();
    await isGood();

    await openMenu(/^Signed in/);
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await enter(token.token);
    const pages = consolePages(subjects).filter(({ path }) => !FOR_ADMINS.test(path));
    await inTabs(pages, (own) => async ({ path }) => {
      await own.page.goto(at(path));
      await own.page.getByRole('heading', { level: 1 }).waitFor();
      await eventually(async () => expect(await own.page.locator('.skeletons').count()).toBe(0));
      expect([path, own.complaints]).toEqual([path, []]);
    });
    await removeSubjects(subjects);
    await page.goto(at(`/destinations/${hooks.ledger.id}/settings`));
    await openSection(page, 'Request');
    await eventually(async () => expect(await page.getByLabel('Method').isDisabled()).toBe(true));
    await page.getByRole('button', { name: 'Preview with an event' }).click();
    await page
      .getByRole('group', { name: 'previewed body' })
      .getByText('"track"')
      .first()
      .waitFor();
    await isGood();
    await page.goto(at(`/sources/${shop.id}`));
    await page.getByText('Write keys are shown to administrators only.').waitFor();
    expect(await tab.evaluate(`document.body.innerText.includes('${shop.writeKey}')`)).toBe(false);
    await page.goto(at('/tokens'));
    await page.getByText('This requires the role admin').waitFor();
    await isGood();
  },
  MINUTES,
);

story(
  'every text of the console comes from its catalogue, and pages with longer texts fit a phone',
  async () => {
    const subjects = await makeSubjects();
    /** findings of all pages, so that one run shows them all */
    const found: string[] = [];
    await inTabs(consolePages(subjects), async (own) => {
      await chooseMarkedTexts(own.page);
      const find = async (look: () => Promise<string[]>) => {
        // Data and charts may still arrive.
        await eventually(async () => expect(await look()).toEqual([]), {
          deadlineMs: 30_000,
        }).catch(() => undefined);
        found.push(...(await look()).map((finding) => `${own.page.url()} ${finding}`));
      };
      return async ({ path }) => {
        await own.page.setViewportSize({ width: 1200, height: 800 });
        await own.page.goto(at(path));
        await own.page.getByRole('heading', { level: 1 }).waitFor();
        await eventually(async () => expect(await own.page.locator('.skeletons').count()).toBe(0));
        await find(() => unmarkedTexts(own));
        await own.page.setViewportSize({ width: 390, height: 800 });
        await find(async () => (await own.evaluate(WIDER)) as string[]);
        expect(own.complaints).toEqual([]);
      };
    });
    await removeSubjects(subjects);
    expect(found).toEqual([]);
  },
  MINUTES,
);

for (const [name, tell] of Object.entries({ ...administration, ...audiences, ...endpoints })) {
  story(
    name,
    () =>
      tell({
        stage,
        tab,
        shop,
        hook: hooks.ledger,
        path: '/ledger',
        isGood: () => isGood(),
        isGoodEverywhere: () => isGoodEverywhere(),
      }),
    MINUTES,
  );
}

story(
  'a selection of all that match outlives new rows and a failed read, and ends with another filter',
  async () => {
    const { page } = tab;
    const { source, destination, send } = await stage.connect({
      name: 'Busy',
      webhooks: [{ url: stage.sink.url('/busy') }],
    });
    await stage.system.send(source.writeKey, 'batch', { batch: someTracks(60) });
    const total = async () => {
      const path = `/deliveries?destination=${destination.id}&limit=1&total=true`;
      return (await stage.system.control('GET', path)).body.total as unknown;
    };
    await eventually(async () => expect(await total()).toEqual({ count: 60, exact: true }));
    await page.goto(at(`/destinations/${destination.id}/deliveries`));
    const selected = page.getByRole('region', { name: 'Selected deliveries' });
    const wholePage = page.getByLabel('Select all on this page');
    await wholePage.check();
    await selected.getByText('50 selected').waitFor();
    await send();
    await eventually(async () => expect(await wholePage.isChecked()).toBe(false));
    const all = selected.getByRole('button', { name: /^Select all \d+ that match$/ });
    await all.waitFor();
    await isGood();

    await page.route('**/api/v1/deliveries?*', (route) => route.fulfill({ status: 503 }));
    await page.getByText('Could not load deliveries').waitFor();
    await selected.getByText('50 selected').waitFor();
    await page.unrouteAll();
    await wholePage.waitFor();

    // Whoever clears the selection no longer waits for what is being read.
    let held: Route | undefined;
    await page.route('**/api/v1/deliveries?*limit=200*', (route) => void (held = route));
    await all.click();
    await eventually(() => expect(held).toBeDefined());
    const ended = page.waitForEvent('requestfailed');
    await selected.getByRole('button', { name: 'Clear the selection' }).click();
    await ended;
    await page.unrouteAll();

    await page.getByRole('button', { name: 'Next page' }).click();
    await page.getByText('51–61 of 61').waitFor();
    await wholePage.check();
    await page.getByRole('button', { name: 'First page' }).click();
    await selected.getByText('11 selected').waitFor();
    await all.click();
    await selected.getByText('61 selected').waitFor();
    await all.waitFor({ state: 'detached' });
    await page.locator('tr[data-row] input').first().uncheck();
    await selected.getByText('60 selected').waitFor();
    await all.waitFor();
    await page.getByRole('button', { name: 'Delivered', exact: true }).click();
    await selected.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'All', exact: true }).click();
    await page.waitForURL((url) => url.search === '');
    await wholePage.waitFor();
    expect(await selected.count()).toBe(0);
    expect(tab.complaints.filter((text) => !text.includes('503'))).toEqual([]);
  },
  MINUTES,
);

story(
  'after the end of a session, signing in leads back to the same address',
  async () => {
    const { page } = tab;
    await page.goto(at('/deliveries?status=dead'));
    await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
    // The list is read every five seconds: once the cookie is gone, any moment may lead to the
    // form.
    await page.getByLabel('Search in ids, events and bodies').fill('type:track ');
    await page.waitForURL(at('/deliveries?status=dead&type=track'));
    await page.context().clearCookies();
    await page.getByText('Your session has ended').waitFor();
    await page.waitForURL(at('/deliveries?status=dead&type=track'));
    await page.getByLabel(/^Token/).fill('not the token at all');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Unknown token').waitFor();
    await enter(stage.system.adminToken);
    await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
    expect(page.url()).toBe(at('/deliveries?status=dead&type=track'));
    await holdsNoSecret();
    expect(tab.complaints.filter((text) => !text.includes('401'))).toEqual([]);
  },
  MINUTES,
);

story(
  'the code for a page warns of the key of a server, and creates a source whose key is public; ' +
    'sources and destinations are searched, filtered and sorted',
  async () => {
    const { page } = tab;
    await stage.system.send(shop.writeKey, 'track', aTrack());
    await page.goto(at(`/sources/${shop.id}/code`));
    const warning = page.getByText('The write key of this source is secret');
    await page.getByText('Browser', { exact: true }).click();
    await warning.waitFor();
    await page.getByText('curl', { exact: true }).click();
    await warning.waitFor({ state: 'detached' });
    await page.getByText('Browser', { exact: true }).click();
    await page.getByRole('button', { name: 'Create a source for pages' }).click();
    await page.getByRole('heading', { name: 'Web shop (pages)' }).waitFor();
    await page.getByText('Browser', { exact: true }).click();
    await page.getByRole('group', { name: 'code for Browser' }).waitFor();
    await warning.waitFor({ state: 'detached' });
    const { body: made } = await stage.system.control('GET', `/sources/${sourceIn(page.url())}`);
    expect(made).toMatchObject({ name: 'Web shop (pages)', trust: 'browser' });

    await page.goto(at('/sources'));
    const ofShop = page.locator(`[data-row="${shop.id}"]`);
    for (const [column, says] of [
      ['Calls a minute', /\d/],
      ['Rejected', /% of the last \d/],
      ['Last call', /ago|now/],
    ] as const) {
      await ofShop.locator(`[data-label="${column}"]`, { hasText: says }).waitFor();
    }
    await page.getByRole('button', { name: 'New source' }).click();
    await page.getByLabel('Name of the source').fill('App');
    await page.getByLabel('Calls come from').selectOption('a page or an app');
    await page.getByRole('button', { name: 'Create source' }).click();
    await page.getByRole('heading', { name: 'App' }).waitFor();
    const { body: ofPage } = await stage.system.control('GET', `/sources/${sourceIn(page.url())}`);
    expect(ofPage).toMatchObject({ name: 'App', trust: 'browser' });

    await findIn('Sources', 'web shop (', 'Web shop (pages)');
    await findIn('Destinations', 'wareh', 'Warehouse');
  },
  MINUTES,
);

/** Returns the id of the source whose page has this address. */
function sourceIn(url: string): string {
  return /\/sources\/([^/]+)/.exec(url)![1]!;
}

/**
 * Finds an entry of a list by a part of its name, and none of it by a state, and sorts the list.
 */
async function findIn(list: 'Sources' | 'Destinations', part: string, name: string): Promise<void> {
  const { page } = tab;
  const names = () => page.locator('tr[data-row] td:first-child .link').allTextContents();
  await place(list).click();
  // Both pages have such a field.
  await page.getByRole('heading', { name: list, exact: true, level: 1 }).waitFor();
  const field = page.getByLabel('Search by name or id');
  await field.fill(part);
  await eventually(async () => expect(await names()).toEqual([name]));
  await page.getByRole('button', { name: 'Off', exact: true }).click();
  await page.getByText('Nothing matches').waitFor();
  await page.getByRole('button', { name: 'All', exact: true }).click();
  await field.fill('');
  const sort = page.getByRole('button', { name: /^Name/ });
  await sort.click();
  await page.waitForURL(/sort=name/);
  await sort.click();
  const { body } = await stage.system.control('GET', `/${list.toLowerCase()}?sort=-name`);
  const sorted = (body.data as { name: string }[]).map((each) => each.name);
  await eventually(async () => expect(await names()).toEqual(sorted));
  const next = await page.locator('tr[data-row]').nth(1).getAttribute('data-row');
  await page.locator('tr[data-row]').nth(1).hover();
  expect(await tab.evaluate(COLOURED)).toEqual([next]);

  await mark(page.locator('tr[data-row] td:nth-child(2)').first());
  // By keyboard to the next row, to its page, and back to it.
  await page.locator('tr[data-row] .link').first().focus();
  await page.keyboard.press('ArrowDown');
  expect(await tab.evaluate(FOCUSED)).toBe(next);
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.pathname.endsWith(`/${next!}`));
  await page.goBack();
  await eventually(async () => expect(await tab.evaluate(FOCUSED)).toBe(next));
}
