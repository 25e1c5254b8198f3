import { readFile } from 'node:fs/promises';
import { type Browser, type Page, type Response } from 'playwright-core';
import { openTab, type Tab } from '../support/browser';
import { CHROMIUM, openBrowser } from '../support/chromium';
import { barriersIn, misfitsOf, STRANGE_NAMES, type Window } from '../support/console/fits';
import { type ConsolePage, consolePages, type Subjects } from '../support/console/pages';
import { eventually } from '../support/eventually';
import { testWith } from '../support/external-tools';
import { aTrack } from '../support/factories';
import { openStorySystem, type StorySystem } from '../support/story-system';
import { descendants } from '../support/supervised';
import { statSeconds } from '../../tools/harness/usage';

/**
 * The console at 10,000 destinations and 2,000 sources, some with strange names: each page shows
 * its first row, and each search answers, within a second; no page asks for all destinations; each
 * fits its window, and is accessible in light and dark. `SCALE_MS` raises the limit on a busy
 * machine, `SCALE_DESTINATIONS` and `SCALE_SOURCES` choose other numbers.
 */

const MINUTES = 60_000;
const DESTINATIONS = Number(process.env.SCALE_DESTINATIONS ?? 10_000);
const SOURCES = Number(process.env.SCALE_SOURCES ?? 2_000);
const LIMIT_MS = Number(process.env.SCALE_MS ?? 1_000);
/** What one page may ask for: a few lists of one page each. */
const MOST_REQUESTS = 32;
const MOST_ROWS = 600;
const AT_ONCE = 20;
/** Sources with traffic. Each has a few destinations. */
const BUSY = 20;

let stage: StorySystem;
let browser: Browser;
let tab: Tab;
let subjects: Subjects;
/** what each page asked for and took, for the log; CPU is that of browser and services */
const measured: { what: string; ms: number; cpuMs: number; requests: number; rows: number }[] = [];

const WINDOWS: Window[] = [
  { width: 1_280, height: 800, showsFirst: true },
  { width: 640, height: 800, showsFirst: true },
  { width: 390, height: 800, showsFirst: true },
];

beforeAll(async () => {
  [stage, browser] = await Promise.all([
    openStorySystem({
      env: { WAYPOST_TIMEOUT: '2s', WAYPOST_RETRY_DELAYS: '1s,2s' },
      together: true,
    }),
    openBrowser(CHROMIUM),
  ]);
  subjects = await makeMany();
  tab = await openTab(browser);
  await tab.page.goto(`${stage.system.controlUrl}/`);
  await tab.page.getByLabel(/^Token/).fill(stage.system.adminToken);
  await tab.page.getByRole('button', { name: 'Sign in' }).click();
  await tab.page.getByRole('navigation', { name: 'Pages' }).waitFor();
}, 60 * MINUTES);
afterAll(async () => {
  const lines = measured.map(
    ({ what, ms, cpuMs, requests, rows }) =>
      `${what}: ${ms} ms, ${cpuMs} ms of CPU, ${requests} requests, ${rows} rows`,
  );
  process.stdout.write(`${lines.join('\n')}\n`);
  await browser.close();
  await stage.close();
}, MINUTES);

/** Makes `count` of something, a few at once. */
async function many<T>(count: number, make: (i: number) => Promise<T>): Promise<T[]> {
  const all: T[] = [];
  for (let i = 0; i < count; i += AT_ONCE) {
    const few = Math.min(AT_ONCE, count - i);
    all.push(...(await Promise.all(Array.from({ length: few }, (_, n) => make(i + n)))));
  }
  return all;
}

async function made(path: string, body: object): Promise<string> {
  const answer = await stage.system.control('POST', path, body);
  if (![201, 202].includes(answer.status)) {
    throw new Error(`POST ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  }
  return (answer.body as { id: string }).id;
}

async function makeMany(): Promise<Subjects> {
  const { system, sink } = stage;
  sink.on('/dies', { status: 422 });
  sink.on('/fails', { status: 500 });
  const sources = await many(SOURCES, (i) =>
    system.createSource(STRANGE_NAMES[i - 1] ?? `Source ${String(i)}`),
  );
  const paths = ['/works', '/dies', '/fails', '/works'];
  const destinations = await many(DESTINATIONS, (i) =>
    system.createDestination({
      name: STRANGE_NAMES[i - 1] ?? `Customer ${String(i)}`,
      sources: [sources[i % sources.length]!.id],
      webhooks: [{ url: sink.url(paths[i % paths.length]) }],
    }),
  );
  // The second one dies. Its name is the longest.
  const [source, destination] = [sources[1]!, destinations[1]!.id];
  const common = { destinations: [destination] };
  const condition = 'user.traits.plan == "pro"';
  const audience = await made('/audiences', { ...common, name: 'Pros', condition });
  const trait = await made('/computed-traits', {
    ...common,
    name: 'Orders',
    compute: 'count',
    event: 'Order Shipped',
  });
  await stage.settled();
  await many(BUSY, (i) =>
    system.send(
      sources[i]!.writeKey,
      'track',
      aTrack({ userId: 'u-1', event: 'Order Shipped', properties: { orderId: `A-${String(i)}` } }),
    ),
  );
  const delivery = await eventually(
    async () => {
      const { body } = await system.control('GET', `/deliveries?destination=${destination}`);
      const [first] = body.data as { id: string; status: string }[];
      expect(first).toMatchObject({ status: 'dead' });
      return first!.id;
    },
    { deadlineMs: 5 * MINUTES },
  );
  const replay = await made('/replays', { destination });
  await made('/tokens', { name: 'Support', role: 'operator' });
  // Of all sources it would send a `delete` to each destination, a quarter of which fail for hours.
  await made('/deletions', { userIds: ['nobody'], sources: [source.id] });
  await eventually(async () => {
    const { body } = await system.control('GET', '/notices');
    expect(body.data.length).toBeGreaterThan(0);
  });
  return {
    destination,
    source: source.id,
    delivery,
    replay,
    audience,
    trait,
    user: 'u-1',
  };
}

/** Counts what a page asks the API for while something is done. */
async function asking(page: Page, act: () => Promise<void>) {
  const answers: Response[] = [];
  const note = (answer: Response) => void answers.push(answer);
  page.on('response', note);
  const cpuBefore = await cpuMs();
  const begun = performance.now();
  await act();
  const ms = Math.round(performance.now() - begun);
  const cpuAfter = await cpuMs();
  page.off('response', note);
  const asked = answers.filter((answer) => new URL(answer.url()).pathname.startsWith('/api/v1/'));
  const rows = await Promise.all(asked.map(rowsIn));
  return {
    ms,
    cpuMs: cpuAfter - cpuBefore,
    urls: asked.map((answer) => answer.url()),
    rows: rows.reduce((sum, count) => sum + count, 0),
  };
}

/**
 * Returns what browser and services have computed so far. On a busy machine it says more than a
 * clock.
 */
async function cpuMs(): Promise<number> {
  const seconds = await Promise.all(
    descendants(process.pid).map(({ pid }) =>
      // It may have ended meanwhile.
      readFile(`/proc/${String(pid)}/stat`, 'utf8').then(statSeconds, () => 0),
    ),
  );
  return Math.round(1_000 * seconds.reduce((sum, each) => sum + each, 0));
}

async function rowsIn(answer: Response): Promise<number> {
  if (answer.headers()['content-type']?.includes('event-stream')) return 0;
  // The page may have left before it came.
  const body = (await answer.json().catch(() => undefined)) as { data?: unknown } | undefined;
  return Array.isArray(body?.data) ? body.data.length : 0;
}

/** Reports what took too long or asked for too much. */
async function judge(what: string, act: () => Promise<void>): Promise<string[]> {
  const { ms, cpuMs, urls, rows } = await asking(tab.page, act);
  measured.push({ what, ms, cpuMs, requests: urls.length, rows });
  const next = urls.filter((url) => new URL(url).searchParams.has('after'));
  return [
    ...(ms > LIMIT_MS ? [`${what} took ${String(ms)} ms`] : []),
    ...(urls.length > MOST_REQUESTS ? [`${what} made ${String(urls.length)} requests`] : []),
    ...(rows > MOST_ROWS ? [`${what} read ${String(rows)} rows`] : []),
    ...(next.length > 0 ? [`${what} read a second page: ${next.join(', ')}`] : []),
  ];
}

const at = (path: string) => `${stage.system.controlUrl}${path}`;

async function open({ path, first }: ConsolePage): Promise<void> {
  await tab.page.goto(at(path));
  await tab.page.locator(first).first().waitFor();
}

testWith(
  CHROMIUM,
  'each page shows its first row within a second, and asks for few rows',
  async () => {
    const found: string[] = [];
    for (const page of consolePages(subjects)) {
      // The browser has the code of the page then, as that of somebody on duty does.
      await open(page);
      found.push(...(await judge(page.path, () => open(page))));
    }
    expect(found).toEqual([]);
    expect(tab.complaints).toEqual([]);
  },
  20 * MINUTES,
);

testWith(
  CHROMIUM,
  'each page fits its window, shows what it is about without scrolling, and is accessible in ' +
    'light and dark',
  async () => {
    const found: string[] = [];
    for (const page of consolePages(subjects)) {
      await tab.page.setViewportSize({ width: 1_280, height: 800 });
      await open(page);
      const misfits = [...(await barriersIn(tab)), ...(await misfitsOf(tab, page.first, WINDOWS))];
      found.push(...misfits.map((misfit) => `${page.path}: ${misfit}`));
    }
    await tab.page.setViewportSize({ width: 1_280, height: 800 });
    expect(found).toEqual([]);
    expect(await tab.evaluate('window.wasRun')).toBeUndefined();
  },
  20 * MINUTES,
);

const LAST = `Customer ${String(DESTINATIONS - 1)}`;
const LAST_SOURCE = `Source ${String(SOURCES - 1)}`;

/** What somebody types or chooses, and what appears then. */
const SEARCHES: Record<string, { path: string; act: (page: Page) => Promise<void> }> = {
  'a destination by its name': {
    path: '/destinations',
    act: async (page) => {
      await page.getByLabel('Search by name or id').fill(LAST);
      await page.getByRole('link', { name: LAST, exact: true }).waitFor();
    },
  },
  'the destinations that fail': {
    path: '/destinations',
    act: async (page) => {
      await page.getByRole('button', { name: 'Failing', exact: true }).click();
      await page.locator('tbody .pill-failing').first().waitFor();
    },
  },
  'the destinations by what is dead': {
    path: '/destinations',
    act: async (page) => {
      await page.getByRole('button', { name: /^Dead/ }).click();
      await page
        .locator('tbody tr', { hasText: /HTTP 422|answered 422/ })
        .first()
        .waitFor();
    },
  },
  'a source by its name': {
    path: '/sources',
    act: async (page) => {
      await page.getByLabel('Search by name or id').fill(LAST_SOURCE);
      await page.getByRole('link', { name: LAST_SOURCE, exact: true }).waitFor();
    },
  },
  'deliveries of a destination': {
    path: '/deliveries',
    act: async (page) => {
      await page.getByLabel('Search in ids, events and bodies').fill('destination:"Customer 9');
      await page.getByRole('option', { name: 'Customer 9', exact: true }).waitFor();
    },
  },
  'deliveries by a part of their body': {
    path: '/deliveries',
    act: async (page) => {
      await page.getByLabel('Search in ids, events and bodies').fill('"A-1"');
      await page.getByText('Searched bodies').waitFor();
      await page.locator('tbody tr').first().waitFor();
    },
  },
  'everything with Ctrl-K': {
    path: '/',
    act: async (page) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'What are you looking for?' }).fill(LAST);
      await page.getByRole('option', { name: LAST, exact: true }).waitFor();
    },
  },
  'the destination of a replay': {
    path: '/replays?destination=none',
    act: async (page) => {
      await page.getByRole('combobox', { name: 'Destination', exact: true }).fill(LAST);
      await page.getByRole('option', { name: LAST, exact: true }).waitFor();
    },
  },
  'the destinations of an audience': {
    path: '/audiences/new',
    act: async (page) => {
      await page.getByRole('combobox', { name: 'Destinations' }).fill(LAST);
      await page.getByRole('option', { name: LAST, exact: true }).waitFor();
    },
  },
};

testWith(
  CHROMIUM,
  'each search answers within a second',
  async () => {
    const found: string[] = [];
    for (const [what, { path, act }] of Object.entries(SEARCHES)) {
      await tab.page.goto(at(path));
      await tab.page.locator('main h1').waitFor();
      await eventually(async () => expect(await tab.page.locator('.skeletons').count()).toBe(0));
      found.push(...(await judge(what, () => act(tab.page))));
    }
    expect(found).toEqual([]);
  },
  20 * MINUTES,
);
