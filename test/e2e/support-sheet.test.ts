import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser } from 'playwright-core';
import { defined } from '../../shared/collections/defined';
import { DEAD } from '../../shared/kafka/topics';
import { decodeDelivery } from '../../shared/model/delivery';
import { ROOT } from '../../shared/runtime/repo-root';
import { openTab, type Tab } from '../support/browser';
import { CHROMIUM_SHELL, openBrowser } from '../support/chromium';
import { waypost } from '../support/cli';
import { eventually } from '../support/eventually';
import { testWith } from '../support/external-tools';
import { aTrack } from '../support/factories';
import { freePort } from '../support/free-port';
import { activate, reach, searchFor } from '../support/keyboard';
import { type NameServer, startNameServer } from '../support/name-server';
import { openStorySystem, type StorySystem } from '../support/story-system';
import { readTopic } from '../support/topics';
import { type Json, type Source } from '../../tools/harness/api';
import { type Answer } from '../../tools/harness/respond';
import { startSink, type Sink } from '../../tools/harness/sink';

/**
 * The fourteen questions of support.md. The truth is recomputed from the logs of the receivers and
 * from Kafka; a command and a page must say the same, while ten endpoints are in trouble and after
 * three of them have recovered. The pages are used by keyboard alone. `SUPPORT_DESTINATIONS=10000`
 * adds destinations that nobody sends to, and opens pages by their addresses.
 */

const MINUTES = 60_000;
const MANY = Number(process.env.SUPPORT_DESTINATIONS ?? 0);
const DEADLINE = { deadlineMs: Number(process.env.SHEET_MS ?? 2 * MINUTES) };
const ORDERS = Array.from({ length: 12 }, (_, i) => `A-${String(101 + i)}`);
const SOUGHT = 'A-107';
const CANCELLED = 'Z-99';
const REFUSAL = '{"error":"no such shop"}';
const RETRY_AFTER_S = 8;

/** A response that a receiver gave; no status: none. */
interface Given {
  id: string;
  body: string;
  at: number;
  status: number | undefined;
}
const logs = new Map<string, Given[]>();
const logOf = (name: string) => logs.get(name) ?? [];
const recovered = new Set<string>();

let stage: StorySystem;
let shop: Source;
let names: NameServer;
let selfSigned: Sink;
let gamma: { port: number; sink?: Sink };
/** ids of the destinations, by their names */
const ids = new Map<string, string>();

/** How each answers until it has recovered; undefined: there is no server that could tell. */
const ENDPOINTS: Record<string, ((nth: number) => Answer) | undefined> = {
  Acme: () => ({ status: 500 }),
  Borealis: () => ({ status: 422, body: REFUSAL }),
  Cobalt: () => ({ misbehave: 'hang' }),
  Delta: () => ({ delayMs: 300 }),
  Evergreen: () => ({ status: 429, headers: { 'retry-after': String(RETRY_AFTER_S) } }),
  Falcon: undefined,
  Gamma: undefined,
  Helios: undefined,
  Iris: (nth) => (nth % 3 === 0 ? { status: 503 } : {}),
  Juniper: () => ({}),
};
const RECOVERS = ['Cobalt', 'Evergreen', 'Gamma'];

/** Answers as the endpoint does at the moment, and writes it down. */
function serve(sink: Sink, name: string): void {
  const own: Given[] = [];
  logs.set(name, own);
  sink.on(`/${name}`, ({ headers, body, at }) => {
    const answer = recovered.has(name) ? {} : (ENDPOINTS[name]?.(own.length) ?? {});
    const status = answer.misbehave === undefined ? (answer.status ?? 200) : undefined;
    own.push({ id: headers['webhook-id'] ?? '', body: body.toString(), at, status });
    return answer;
  });
}

beforeAll(async () => {
  names = await startNameServer({});
  selfSigned = await startSink({ tls: true });
  gamma = { port: await freePort() };
  stage = await openStorySystem({
    together: true,
    env: {
      WAYPOST_TIMEOUT: '2s',
      WAYPOST_RETRY_DELAYS: '2s,4s',
      WAYPOST_DNS_SERVERS: names.address,
    },
  });
  const { sink, system } = stage;
  const urls: Record<string, string> = {
    Falcon: selfSigned.url('/hook'),
    Gamma: `http://127.0.0.1:${String(gamma.port)}/Gamma`,
    Helios: 'http://no-such-name.example/hook',
  };
  shop = await system.createSource('Web shop');
  for (const [name, behaves] of Object.entries(ENDPOINTS)) {
    if (behaves) serve(sink, name);
    const { id } = await system.createDestination({
      name,
      sources: [shop.id],
      webhooks: [{ url: urls[name] ?? sink.url(`/${name}`) }],
      ...(name === 'Juniper' ? JUNIPER : undefined),
    });
    ids.set(name, id);
  }
  await addUnused();
  await stage.settled();
  const changed = await system.control('PATCH', `/destinations/${ids.get('Delta')!}`, {
    maxPerSecond: 500,
  });
  expect(changed.status).toBe(200);
  for (const [i, orderId] of ORDERS.entries()) {
    await order(`u-${String(i % 3)}`, 'Order Shipped', orderId);
  }
  await order('u-99', 'Order Cancelled', CANCELLED);
}, 20 * MINUTES);
afterAll(async () => {
  await stage.close();
  await selfSigned.close();
  await gamma.sink?.close();
  await names.close();
}, MINUTES);

const JUNIPER = { filter: 'event != "Order Cancelled"' };

async function order(userId: string, event: string, orderId: string): Promise<void> {
  const call = aTrack({ userId, event, properties: { orderId } });
  expect((await stage.system.send(shop.writeKey, 'track', call)).status).toBe(200);
}

async function addUnused(): Promise<void> {
  const AT_ONCE = 20;
  for (let made = 0; made < MANY - ids.size; made += AT_ONCE) {
    await Promise.all(
      Array.from({ length: AT_ONCE }, (_, i) =>
        stage.system.createDestination({
          name: `Unused ${String(made + i)}`,
          sources: [],
          webhooks: [{ url: stage.sink.url('/unused') }],
        }),
      ),
    );
  }
}

/** The truth, from the receivers' logs and the topic of dead letters. */

const isWell = (status: number | undefined) => status !== undefined && status < 300;
const takenBy = (name: string) =>
  new Set(logOf(name).flatMap(({ id, status }) => (isWell(status) ? [id] : [])));
const sentTo = (name: string) => ORDERS.length + (name === 'Juniper' ? 0 : 1);
/** They have failed at least once within the last minutes, or were never reached. */
const inTrouble = () =>
  Object.keys(ENDPOINTS).filter(
    (name) =>
      logOf(name).length === 0 ||
      RECOVERS.includes(name) ||
      logOf(name).some(({ status }) => !isWell(status)),
  );

async function deadOf(): Promise<Map<string, number>> {
  const dead = new Map<string, number>();
  for (const { headers } of await readTopic(stage.topics.kafka, DEAD)) {
    const decoded = decodeDelivery(headers);
    if (decoded.kind !== 'delivery') continue;
    const { destinationId } = decoded.delivery;
    dead.set(destinationId, (dead.get(destinationId) ?? 0) + 1);
  }
  return new Map(
    Array.from(ids, ([name, id]) => [name, dead.get(id) ?? 0] as const).filter(([, n]) => n > 0),
  );
}

async function waitingAt(): Promise<Record<string, number>> {
  const dead = await deadOf();
  const waiting = Array.from(
    ids.keys(),
    (name) => [name, sentTo(name) - takenBy(name).size - (dead.get(name) ?? 0)] as const,
  );
  return Object.fromEntries(waiting.filter(([, n]) => n > 0));
}

/** Names of those that took an order. */
const tookOrder = (orderId: string) =>
  Object.keys(ENDPOINTS).filter((name) =>
    logOf(name).some(({ body, status }) => isWell(status) && body.includes(`"${orderId}"`)),
  );

/** The answers of the command line. */

async function run(...argv: string[]) {
  const env = { WAYPOST_URL: stage.system.controlUrl, WAYPOST_TOKEN: stage.system.adminToken };
  const { code, out, err, json } = await waypost(argv, { env });
  if (code !== 0) throw new Error(`waypost ${argv.join(' ')}: ${err}`);
  return { out, json: json as Json[] };
}
interface Status {
  id: string;
  name: string;
  state: string;
  since: string | null;
  why: string | null;
  waiting: number;
  dead: number;
}
async function statusOf(...argv: string[]): Promise<Status[]> {
  const { json } = await run('status', ...argv, '--json');
  return json[0].destinations as Status[];
}
const nameOf = (id: string) => [...ids].find(([, each]) => each === id)?.[0];
async function deliveriesOf(...argv: string[]): Promise<Json[]> {
  return (await run('deliveries', 'list', ...argv, '--json')).json;
}
const soughtAt = async (name: string) =>
  (await deliveriesOf('--destination', ids.get(name)!, '--search', SOUGHT))[0];
const asRecord = (rows: readonly (readonly [string, number])[]) =>
  Object.fromEntries(rows.filter(([, n]) => n > 0));

/** The answers of the console. */

let browser: Browser | undefined;
let tab: Tab | undefined;
/** clicks since the first page was opened */
let clicks = 0;

async function openPage(path: string): Promise<Tab['page']> {
  browser ??= await openBrowser(CHROMIUM_SHELL);
  if (tab === undefined) {
    tab = await openTab(browser);
    // What is not there yet may be there when the page is opened again.
    tab.page.setDefaultTimeout(15_000);
    await tab.page.goto(`${stage.system.controlUrl}/`);
    await reach(tab.page, tab.page.getByLabel(/^Token/));
    await tab.page.keyboard.insertText(stage.system.adminToken);
    await tab.page.keyboard.press('Enter');
    await tab.page.getByRole('navigation', { name: 'Pages' }).waitFor();
  }
  const { page } = tab;
  // Somebody on duty has the console open.
  const pages = page.getByRole('navigation', { name: 'Pages' });
  if (path === '/') {
    await activate(page, pages.getByRole('link', { name: 'Overview', exact: true }));
  } else {
    await page.goto(`${stage.system.controlUrl}${path}`);
  }
  clicks = 0;
  return page;
}
afterAll(async () => {
  await tab?.close();
  await browser?.close();
});

/** Goes from the first page by links; with very many destinations by its address. */
async function visit(address: string, ...links: string[]): Promise<Tab['page']> {
  if (MANY > 0) return openPage(address);
  const page = await openPage('/');
  for (const name of links) {
    clicks++;
    await activate(page, page.getByRole('link', { name, exact: true }).first());
  }
  return page;
}

/** Returns the texts of a table's cells, without its head. */
async function cellsOf(page: Tab['page'], label: string): Promise<string[][]> {
  const table = page.getByRole('region', { name: label, exact: true });
  await table.waitFor();
  // A browser puts tabs between cells.
  const rows = await table.locator('tbody tr').allInnerTexts();
  return rows.map((row) => row.split('\t').map((cell) => cell.trim()));
}
/** The Overview answers several questions: it is read once, and again after a wrong answer. */
const overview = new Map<string, string[][]>();
async function overviewOf(table: string): Promise<string[][]> {
  const known = overview.get(table);
  if (known) return known;
  const page = await visit('/');
  for (const name of ['Needs attention', 'Destinations']) {
    overview.set(name, await cellsOf(page, name));
  }
  return overview.get(table) ?? [];
}
async function attention() {
  const rows = await overviewOf('Needs attention');
  return rows.map(([name = '', state, why = '', dead, waiting]) => ({
    name,
    state,
    why,
    dead: parseInt(dead ?? '', 10),
    waiting: parseInt(waiting ?? '', 10),
  }));
}
/**
 * Returns the rows of the deliveries of the order, at one destination or at all. The page shows
 * what it had read before until it has read it again, which it does every five seconds.
 */
async function listed(name?: string): Promise<string[][]> {
  const id = name === undefined ? undefined : ids.get(name)!;
  const asked = new URLSearchParams(defined({ destination: id, q: SOUGHT }));
  const page = await visit(`/deliveries?${asked.toString()}`, 'Deliveries');
  const isRead = page.waitForResponse((response) => {
    const { pathname, searchParams } = new URL(response.url());
    return (
      pathname.endsWith('/deliveries') &&
      [...asked].every(([filter, value]) => searchParams.get(filter) === value)
    );
  });
  if (MANY === 0) {
    await searchFor(page, ...(name === undefined ? [] : [`destination:${name}`]), SOUGHT);
  }
  await (await isRead).finished();
  return eventually(async () => {
    const rows = await cellsOf(page, 'Deliveries');
    expect(rows).toHaveLength(name === undefined ? ids.size : 1);
    return rows;
  });
}

/** One question, and three ways to answer it in the same form. */
interface Question {
  truth: () => unknown;
  command: () => Promise<unknown>;
  page: () => Promise<unknown>;
}

/** Words of the causes: of the command line, and of the console. */
const CAUSES: Record<string, RegExp> = {
  Acme: /500/,
  Falcon: /self.signed/i,
  Helios: /ENOTFOUND|host name is unknown|no address|NXDOMAIN/i,
};
const knownCauses = (rows: readonly { name: string; why: string | null }[]) =>
  rows.flatMap(({ name, why }) => (CAUSES[name]?.test(why ?? '') ? [name] : [])).toSorted();

const SHEET: Record<string, Question> = {
  'Who is in trouble?': {
    truth: () => inTrouble().toSorted(),
    command: async () => (await inNeed()).map(({ name }) => name).toSorted(),
    page: async () => (await attention()).map(({ name }) => name).toSorted(),
  },
  'Who loses events first?': {
    truth: async () => [...(await deadOf())].sort(([, a], [, b]) => b - a)[0]?.[0],
    command: async () => (await statusOf())[0]?.name,
    page: async () => (await attention())[0]?.name,
  },
  'Since when does Acme fail?': {
    truth: () => true,
    command: async () => isFirstFailure((await statusOf('Acme'))[0]?.since),
    page: async () => {
      const page = await visit(`/destinations/${ids.get('Acme')!}`, 'Acme');
      const since = page.locator('.pill-failing time');
      return isFirstFailure(await since.getAttribute('datetime'));
    },
  },
  'Why does it fail?': {
    truth: () => Object.keys(CAUSES).toSorted(),
    command: async () => knownCauses(await statusOf()),
    page: async () => knownCauses(await attention()),
  },
  'How many wait for each?': {
    truth: waitingAt,
    command: async () =>
      asRecord((await statusOf()).map(({ name, waiting }) => [name, waiting] as const)),
    page: async () =>
      asRecord((await attention()).map(({ name, waiting }) => [name, waiting] as const)),
  },
  'How many are lost, and whose?': {
    truth: async () => Object.fromEntries(await deadOf()),
    command: async () =>
      asRecord((await statusOf()).map(({ name, dead }) => [name, dead] as const)),
    page: async () => asRecord((await attention()).map(({ name, dead }) => [name, dead] as const)),
  },
  'When does what waits for Cobalt go on?': {
    truth: async () => ((await waitingAt()).Cobalt ? 'when it answers' : 'it has arrived'),
    command: async () => {
      const { id } = await soughtAt('Cobalt');
      return goesOnIn((await run('why', String(id))).out);
    },
    page: async () => goesOnIn((await listed('Cobalt')).flat().join(' ')),
  },
  'Where is order A-107?': {
    truth: () => tookOrder(SOUGHT).toSorted(),
    command: async () =>
      (await deliveriesOf('--search', SOUGHT))
        .flatMap(({ destination, status }) =>
          status === 'delivered' ? [nameOf(destination as string)] : [],
        )
        .toSorted(),
    page: async () =>
      (await listed())
        .flatMap((cells) => (cells.includes('delivered') ? [cells[3]] : []))
        .toSorted(),
  },
  'What did Waypost send to Borealis, and what was the answer?': {
    truth: () => {
      const { body, status } = logOf('Borealis').find((given) => given.body.includes(SOUGHT))!;
      return { order: orderIn(body), status, answer: REFUSAL };
    },
    command: async () => {
      const { id } = await soughtAt('Borealis');
      const [shown] = (await run('deliveries', 'show', String(id), '--json')).json;
      const [url] = shown.attempts[0].urls;
      const { orderId } = shown.body.properties;
      return { order: orderId, status: url.status, answer: url.response.body };
    },
    page: async () => {
      const { id } = await soughtAt('Borealis');
      let page = tab!.page;
      if (MANY > 0) page = await openPage(`/deliveries/${String(id)}`);
      else {
        await listed('Borealis');
        clicks++;
        await activate(page, page.getByRole('link', { name: /^track: Order Shipped/ }));
      }
      const body = page.getByRole('group', { name: 'body', exact: true });
      await body.waitFor();
      const answer = await page.locator('details', { hasText: 'no such shop' }).count();
      const status = await page.getByText('HTTP 422').count();
      return {
        order: orderIn(await body.innerText()),
        status: status > 0 ? 422 : undefined,
        answer: answer > 0 ? REFUSAL : undefined,
      };
    },
  },
  'Why did Juniper not get order Z-99?': {
    truth: () =>
      logOf('Juniper').some(({ body }) => body.includes(CANCELLED)) ? 'delivered' : 'its filter',
    command: async () => {
      const [row] = (await run('lookup', '--user', 'u-99', '--json')).json;
      const found = (row.destinations as Json[]).find(({ id }) => id === ids.get('Juniper'));
      return found.outcome === 'not_matched' && /filter/.test(String(found.reason))
        ? 'its filter'
        : found;
    },
    page: async () => {
      const page = await visit('/lookup?user=u-99', 'Deliveries');
      if (MANY === 0) {
        await searchFor(page, 'user:u-99', 'destination:Juniper');
        clicks++;
        await activate(page, page.getByRole('link', { name: 'Look for the event itself' }));
      }
      const outcomes = (await cellsOf(page, 'messages'))[0]?.at(-1) ?? '';
      const atJuniper = outcomes.split('\n').find((line) => line.startsWith('Juniper'));
      return /filter/.test(atJuniper ?? '') ? 'its filter' : outcomes;
    },
  },
  'How many attempts did the order take at Iris?': {
    truth: () => logOf('Iris').filter(({ body }) => body.includes(`"${SOUGHT}"`)).length,
    command: async () => (await soughtAt('Iris')).attemptsMade,
    page: async () => Number((await listed('Iris'))[0]?.[6]),
  },
  'How many did Delta get?': {
    truth: () => takenBy('Delta').size,
    command: async () =>
      (await deliveriesOf('--destination', ids.get('Delta')!, '--status', 'delivered')).length,
    page: async () => {
      if (MANY === 0) {
        const rows = await overviewOf('Destinations');
        return Number(rows.find(([name]) => name === 'Delta')?.[2]);
      }
      const page = await openPage(`/deliveries?destination=${ids.get('Delta')!}&status=delivered`);
      return (await cellsOf(page, 'Deliveries')).length;
    },
  },
  'What must somebody still look after?': {
    truth: async () => Object.fromEntries(await deadOf()),
    command: async () => {
      const notices = (await run('notices', 'list', '--open', '--kind', 'dead_letters', '--json'))
        .json;
      return Object.fromEntries(notices.map(({ name, count }) => [name, count]));
    },
    page: async () => {
      const page = await visit('/notices?open=true', 'Notices');
      const rows = await cellsOf(page, 'Notices');
      return Object.fromEntries(
        rows.flatMap(([, kind, name = '', what = '']) => {
          const number = /(\d+) dead/.exec(what)?.[1];
          return kind === 'dead letters' && number !== undefined ? [[name, Number(number)]] : [];
        }),
      );
    },
  },
  'Who changed something last?': {
    truth: () => 'Delta',
    command: async () => (await run('audit', '--kind', 'destination', '--json')).json.at(0).name,
    page: async () => {
      const page = await visit('/audit?kind=destination', 'Audit');
      if (MANY === 0) {
        await reach(page, page.getByLabel('Kind', { exact: true }));
        await page.keyboard.type('destination');
      }
      return eventually(async () => {
        const rows = await cellsOf(page, 'Changes');
        expect(rows.every((cells) => cells.join(' ').includes('destination'))).toBe(true);
        return rows[0]?.join(' ').includes('Delta') ? 'Delta' : rows[0];
      });
    },
  },
};

async function inNeed(): Promise<Status[]> {
  return (await statusOf()).filter(
    ({ state, dead }) => dead > 0 || ['failing', 'degraded'].includes(state),
  );
}

/** Clocks of the receiver and of delivery are one; an attempt ends after it was received. */
function isFirstFailure(since: string | null | undefined): boolean {
  const first = logOf('Acme')[0]!.at;
  return Math.abs(Date.parse(since ?? '') - first) < 3_000;
}

function goesOnIn(text: string): string {
  if (/as soon as the endpoint answers/i.test(text)) return 'when it answers';
  return /delivered/.test(text) ? 'it has arrived' : text;
}

function orderIn(body: string): string | undefined {
  return /"orderId":\s*"([^"]+)"/.exec(body)?.[1];
}

const agrees = (way: 'command' | 'page') => async (question: string) => {
  await eventually(async () => {
    const { truth, [way]: answer } = SHEET[question]!;
    try {
      expect(await answer()).toEqual(await truth());
    } catch (error) {
      overview.clear();
      throw error;
    }
    if (way === 'page') {
      expect(clicks).toBeLessThanOrEqual(2);
      expect(tab!.complaints).toEqual([]);
    }
  }, DEADLINE);
};
const QUESTIONS = Object.keys(SHEET);

test('support.md has the fourteen questions', () => {
  const sheet = readFileSync(join(ROOT, 'test/e2e/support.md'), 'utf8');
  const asked = sheet
    .split('\n')
    .flatMap((line) => /^\| \d+ +\| ([^|]+?) +\|/.exec(line)?.[1] ?? []);
  expect(asked).toEqual(QUESTIONS);
  expect(asked).toHaveLength(14);
});

describe.each(['during the trouble', 'after three endpoints have recovered'])('%s', (when) => {
  beforeAll(async () => {
    overview.clear();
    if (when !== 'during the trouble') {
      gamma.sink = await startSink({ port: gamma.port });
      serve(gamma.sink, 'Gamma');
      for (const name of RECOVERS) recovered.add(name);
    }
    // Iris and the others take what they take; after a recovery nothing waits there.
    const calm = ['Delta', 'Iris', 'Juniper', ...recovered];
    await eventually(() => {
      expect(calm.filter((name) => takenBy(name).size < sentTo(name))).toEqual([]);
      expect(logOf('Borealis').length).toBeGreaterThanOrEqual(sentTo('Borealis'));
    }, DEADLINE);
  }, 3 * MINUTES);

  test.each(QUESTIONS)('one command answers: %s', agrees('command'), 3 * MINUTES);

  for (const question of QUESTIONS) {
    testWith(
      CHROMIUM_SHELL,
      `a page answers in two clicks or fewer: ${question}`,
      () => agrees('page')(question),
      3 * MINUTES,
    );
  }
});
