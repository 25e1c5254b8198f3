import { type Browser, type Page, type Route } from 'playwright-core';
import { openTab, type Tab } from '../support/browser';
import { CHROMIUM_SHELL, openBrowser } from '../support/chromium';
import {
  barriersIn,
  FROM_RIGHT,
  LONG,
  looksOf,
  MARKUP,
  misfitsOf,
  SPACED,
  STRANGE_NAMES,
  uncardedOf,
  type Window,
} from '../support/console/fits';
import { consolePages, routesWithout, type Subjects } from '../support/console/pages';
import { eventually } from '../support/eventually';
import { testWith } from '../support/external-tools';
import { aTrack } from '../support/factories';
import { openStorySystem, type StorySystem } from '../support/story-system';

/**
 * All pages: where nothing is yet, and with the names that people give and clients send: as long as
 * they may be, without a space, from right to left, with emoji, and with markup. No page is wider
 * than the window because of them, each can be seen, and none runs. Their accessibility is examined
 * here, too.
 */

const MINUTES = 60_000;
/** A name of an audience becomes a trait of at most 100 characters, with `_` between its words. */
const MOST_OF_TRAIT = 90;
const USER = `user-${'0123456789'.repeat(12)}`;
/** More lines of a body than a box would show without scrolling. */
const MANY_FIELDS = Object.fromEntries(
  Array.from({ length: 40 }, (_, i) => [`field${String(i)}`, i]),
);

/** Windows by their size in CSS px. That of 640 × 400 is one of 1,280 × 800 at 200 %. */
const WINDOWS: Window[] = [
  { width: 1_280, height: 800, showsFirst: true },
  { width: 1_024, height: 800, showsFirst: true },
  { width: 800, height: 800, showsFirst: true },
  { width: 640, height: 400, showsFirst: false },
  { width: 640, height: 800, showsFirst: true },
  { width: 390, height: 800, showsFirst: true },
];

let stage: StorySystem;
let browser: Browser;
let subjects: Subjects;

beforeAll(async () => {
  [stage, browser] = await Promise.all([
    openStorySystem({
      env: { WAYPOST_TIMEOUT: '2s', WAYPOST_RETRY_DELAYS: '1s,2s' },
      together: true,
    }),
    openBrowser(CHROMIUM_SHELL),
  ]);
}, 8 * MINUTES);
afterAll(async () => {
  await browser.close();
  await stage.close();
}, MINUTES);

async function made(path: string, body: object): Promise<string> {
  const answer = await stage.system.control('POST', path, body);
  if (![201, 202].includes(answer.status)) {
    throw new Error(
      `POST ${path} answered ${String(answer.status)}: ${JSON.stringify(answer.body)}`,
    );
  }
  return (answer.body as { id: string }).id;
}

/** One of everything under each name, with traffic that arrives, fails and dies. */
async function makeStrange(): Promise<Subjects> {
  const { system, sink } = stage;
  sink.on('/dies', { status: 422, body: LONG });
  sink.on('/fails', { status: 500, body: LONG });
  const source = await system.createSource(LONG);
  for (const name of STRANGE_NAMES.slice(1)) await system.createSource(name);
  const destinations: string[] = [];
  for (const [i, name] of STRANGE_NAMES.entries()) {
    const path = ['/dies', '/fails', '/works'][i % 3]!;
    const { id } = await system.createDestination({
      name,
      sources: [source.id],
      webhooks: [
        { url: sink.url(`${path}?${LONG}`), headers: { [`X-${LONG.slice(0, 60)}`]: LONG } },
      ],
    });
    destinations.push(id);
  }
  const destination = destinations[0]!;
  for (const name of STRANGE_NAMES) {
    await made('/tokens', { name, role: 'operator' });
  }
  const common = { sources: [source.id], destinations: [destination] };
  const audience = await made('/audiences', {
    ...common,
    name: LONG.slice(0, MOST_OF_TRAIT),
    condition: `user.traits.${LONG.slice(0, 60)} == "${FROM_RIGHT}"`,
  });
  const trait = await made('/computed-traits', {
    ...common,
    name: SPACED.slice(0, MOST_OF_TRAIT).trim(),
    compute: 'count',
    event: LONG,
  });
  await stage.settled();
  const properties = { ...MANY_FIELDS, [LONG]: LONG, text: MARKUP };
  for (const event of STRANGE_NAMES) {
    const call = aTrack({ event, userId: USER, properties });
    expect((await system.send(source.writeKey, 'track', call)).status).toBe(200);
  }
  // Refused, with a long reason.
  await system.send(source.writeKey, 'batch', { batch: [{ type: 'track', event: LONG }] });
  const delivery = await eventually(async () => {
    const { body } = await system.control('GET', `/deliveries?destination=${destination}`);
    const dead = (body.data as { id: string; type: string; status: string }[]).filter(
      ({ type, status }) => type === 'track' && status === 'dead',
    );
    // The audience and the trait have sent some, too, whose bodies are short.
    expect(dead).toHaveLength(STRANGE_NAMES.length);
    return dead[0]!.id;
  });
  await made('/deletions', { userIds: [LONG] });
  const replay = await made('/replays', { destination });
  await eventually(async () => {
    const { body } = await system.control('GET', '/notices');
    expect(body.data.length).toBeGreaterThan(0);
  });
  return { destination, source: source.id, delivery, replay, audience, trait, user: USER };
}

async function signedIn(): Promise<Tab> {
  const tab = await openTab(browser);
  await tab.page.addInitScript(
    `localStorage.setItem('waypost.views.deliveries', ${JSON.stringify(
      JSON.stringify(STRANGE_NAMES.map((name) => ({ name, filters: `q=${name.slice(0, 9)}` }))),
    )})`,
  );
  await tab.page.goto(`${stage.system.controlUrl}/`);
  await tab.page.getByLabel(/^Token/).fill(stage.system.adminToken);
  await tab.page.getByRole('button', { name: 'Sign in' }).click();
  await tab.page.getByRole('navigation', { name: 'Pages' }).waitFor();
  return tab;
}

/**
 * The operations that a page asks the API for, without their queries; the same one may be several.
 */
function askedBy(page: Page): string[] {
  const asked: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith('/api/v1/')) asked.push(pathname.slice('/api/v1'.length));
  });
  return asked;
}

describe('where nothing is yet', () => {
  testWith(
    CHROMIUM_SHELL,
    'each page says what comes next, fits its window, and is accessible in light and dark',
    async () => {
      const tab = await signedIn();
      const { page } = tab;
      const misfits = async () => [
        ...(await barriersIn(tab)),
        ...(await misfitsOf(tab, 'main h1', WINDOWS)),
      ];
      await page.goto(`${stage.system.controlUrl}/`);
      await page.getByRole('link', { name: 'Connect your first integration' }).waitFor();
      expect(await misfits()).toEqual([]);
      const { writeKey } = await stage.system.createSource(LONG);
      for (const [path, says] of [
        ['/deliveries', 'No deliveries yet'],
        ['/debugger', 'No calls yet'],
      ] as const) {
        await page.setViewportSize({ width: 1_280, height: 800 });
        await page.goto(`${stage.system.controlUrl}${path}`);
        await page.getByText(says).waitFor();
        const curl = page.getByRole('group', { name: 'code for curl' });
        expect(await curl.textContent()).toContain(
          `curl ${stage.system.ingestUrl}/v1/track -u '${writeKey}:'`,
        );
        expect(await misfits()).toEqual([]);
      }
      expect(tab.complaints).toEqual([]);
      await tab.close();
    },
    3 * MINUTES,
  );
});

describe('with strange names', () => {
  beforeAll(async () => {
    subjects = await makeStrange();
  }, 8 * MINUTES);

  testWith(
    CHROMIUM_SHELL,
    'the page of a destination asks for its health once, beside the destination, and not for the ' +
      'overview of all; folded numbers are no rows',
    async () => {
      const tab = await signedIn();
      const { page } = tab;
      await page.goto(`${stage.system.controlUrl}/connect`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      const own = `/destinations/${subjects.destination}`;
      let held: Route | undefined;
      await page.route(`**/api/v1${own}`, (route) => void (held = route), { times: 1 });
      const asked = askedBy(page);
      await page.goto(`${stage.system.controlUrl}${own}`);
      await eventually(() => expect(asked).toContain(`${own}/health`));
      await eventually(() => expect(held).toBeDefined());
      await held!.continue();
      await page.getByText('As a table').waitFor();
      expect(asked.filter((path) => path === `${own}/health`)).toHaveLength(1);
      expect(asked).not.toContain('/overview');
      const rows = page.getByRole('region', { name: 'Deliveries over time' }).getByRole('row');
      expect(await rows.count()).toBe(0);
      await page.getByText('As a table').click();
      await rows.first().waitFor();
      await tab.close();
    },
    MINUTES,
  );

  testWith(
    CHROMIUM_SHELL,
    'every page fits its window with names of 200 letters, from right to left, of emoji and of ' +
      'markup, shows what it is about without scrolling, and is accessible in light and dark',
    async () => {
      const pages = consolePages(subjects);
      expect(routesWithout(pages)).toEqual([]);
      const tab = await signedIn();
      const { page } = tab;
      /** findings of all pages, so that one run shows them all */
      const found: string[] = [];
      let headsThatStayed = 0;
      for (const { path, first } of pages) {
        await page.setViewportSize({ width: 1_280, height: 800 });
        await page.goto(`${stage.system.controlUrl}${path}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await eventually(async () => expect(await page.locator('.skeletons').count()).toBe(0));
        const { odd, stayed } = await looksOf(tab);
        headsThatStayed += stayed;
        const misfits = [
          ...odd,
          ...(await barriersIn(tab)),
          ...(await misfitsOf(tab, first, WINDOWS)),
          ...(await uncardedOf(tab)),
        ];
        found.push(...misfits.map((misfit) => `${path}: ${misfit}`));
      }
      expect(found).toEqual([]);
      expect(headsThatStayed).toBeGreaterThan(0);
      expect(await tab.evaluate('window.wasRun')).toBeUndefined();
      expect(tab.complaints).toEqual([]);
      await tab.close();
    },
    8 * MINUTES,
  );
});
