import { createServer, request as requestTo, type Server } from 'node:http';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Browser, type Page } from 'playwright-core';
import { snippetsFor } from '../../console/src/lib/snippets';
import { listen } from '../../shared/runtime/health';
import { ROOT } from '../../shared/runtime/repo-root';
import { CHROMIUM, openBrowser } from '../support/chromium';
import { aWriteKey } from '../support/write-key';
import { eventually } from '../support/eventually';
import { testWith } from '../support/external-tools';
import { aSource } from '../support/fakes';
import { type IngestProcess, startIngestProcess } from '../support/ingest-process';
import {
  asRecorded,
  namesIn,
  RECORDED_KEY,
  type RecordedRequest,
  recordedRequests,
  writeRecorded,
} from '../support/recorded';

/**
 * Published clients for browsers, unmodified, on a page of another origin in a real Chromium: every
 * call is in Kafka. The page's network is the only thing that differs from that of a server client,
 * and it fails without a trace here. test/clients/recorded-browsers.json holds the requests, for
 * the fuzz tests of ingest; with `RECORD=1` this writes it.
 */

const KEY = RECORDED_KEY;
const SCRIPTS: Readonly<Record<string, string>> = {
  '/rudderstack.js': '@rudderstack/analytics-js/dist/npm/modern/bundled/umd/index.js',
  '/segment.js': '@segment/analytics-next/dist/umd/index.js',
};

let ingest: IngestProcess;
/** stands before ingest, and notes the requests */
let relay: Server;
let relayUrl: string;
let posted: Parameters<typeof asRecorded>[1][];
const recorded: RecordedRequest[] = process.env.RECORD ? [] : recordedRequests('browsers');
let pages: Server;
let pageUrl: string;
let browser: Browser | undefined;
let stored: Partial<Record<'type' | 'event' | 'name' | 'groupId' | 'userId', string>>[];
let stopTail: () => Promise<void>;

beforeAll(async () => {
  ingest = await startIngestProcess(process.env.KAFKA_BROKERS!, {
    more: { WAYPOST_LOG_LEVEL: 'trace' },
  });
  await ingest.addSources(aSource({ writeKeys: [aWriteKey(KEY)] }));
  stored = [];
  const tail = await ingest.kafka.tail({
    name: 'test',
    topic: 'messages',
    from: 'beginning',
    onRecord: ({ value }) => stored.push(JSON.parse(String(value)) as (typeof stored)[0]),
    onFatal: (error) => {
      throw error;
    },
  });
  stopTail = () => tail.stop();
  relay = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const { method = '', url: path = '' } = req;
      const body = Buffer.concat(chunks);
      const headers = req.headers as Record<string, string | undefined>;
      if (method === 'POST') posted.push({ method, path, headers, body });
      requestTo(ingest.url + path, { method, headers }, (answer) => {
        res.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(res);
      }).end(body);
    });
  });
  relayUrl = `http://127.0.0.1:${String(await listen(relay, 0, '127.0.0.1'))}`;
  pages = createServer((req, res) => {
    const script = SCRIPTS[req.url ?? ''];
    if (script === undefined) {
      res.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>shop</title>');
      return;
    }
    readFile(join(ROOT, 'node_modules', script)).then(
      (text) => res.writeHead(200, { 'content-type': 'text/javascript' }).end(text),
      () => res.writeHead(404).end(),
    );
  });
  // Another host than that of ingest: another origin, and another site.
  pageUrl = `http://localhost:${String(await listen(pages, 0, '127.0.0.1'))}`;
});
beforeEach(() => (posted = []));
afterAll(async () => {
  if (process.env.RECORD) writeRecorded('browsers', recorded);
  await browser?.close();
  pages.close();
  relay.close();
  await stopTail();
  await ingest.close();
});

interface OpenPage {
  page: Page;
  /** requests to ingest: method and path */
  requests: string[];
  /** what the page's console reports as an error */
  complaints: string[];
}

async function openPage(script?: string): Promise<OpenPage> {
  browser ??= await openBrowser(CHROMIUM);
  const page = await (await browser.newContext()).newPage();
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => {
    const { origin, pathname } = new URL(request.url());
    if (origin === relayUrl) requests.push(`${request.method()} ${pathname}`);
  });
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.location().url.endsWith('favicon.ico')) {
      complaints.push(message.text());
    }
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(pageUrl);
  if (script !== undefined) await page.addScriptTag({ url: script });
  return { page, requests, complaints };
}

/**
 * Waits until each of these calls, type and name or id, is stored, and checks that none is stored
 * twice.
 */
async function expectStored(calls: string[]): Promise<void> {
  const wanted = new Set(calls);
  const found = () =>
    stored.map(
      ({ type, event, name, groupId, userId }) =>
        `${type!} ${event ?? name ?? groupId ?? userId ?? ''}`,
    );
  await eventually(() => expect(found()).toEqual(expect.arrayContaining(calls)));
  expect(
    found()
      .filter((call) => wanted.has(call))
      .sort(),
  ).toEqual([...calls].sort());
}

/**
 * Compares the requests of a client with its recorded ones: their paths, and the fields of their
 * calls. The headers are those of the browser.
 */
function expectAsRecorded(client: string): void {
  const requests = posted.map((request) => asRecorded(client, request));
  expect(requests.length).toBeGreaterThan(0);
  if (process.env.RECORD) recorded.push(...requests);
  else {
    expect(formsOf(requests)).toEqual(formsOf(recorded.filter((each) => each.client === client)));
  }
}

function formsOf(requests: readonly RecordedRequest[]): unknown {
  return {
    paths: namesIn(requests, ({ method, path }) => [`${method} ${path.replace(/\?.*/, '')}`]),
    fields: namesIn(requests, ({ body }) => Object.keys(body)),
  };
}

/** What RudderStack's control plane would answer: no destination in the browser. */
const SOURCE_CONFIG = {
  source: {
    id: 's1',
    name: 'shop',
    writeKey: KEY,
    enabled: true,
    config: {},
    destinations: [],
    workspaceId: 'w1',
  },
};

type Rudder = Record<
  'load' | 'identify' | 'track' | 'page' | 'group',
  (...args: unknown[]) => void
>;

async function sendByRudderStack(useBeacon: boolean, name: string): Promise<OpenPage> {
  const open = await openPage('/rudderstack.js');
  await open.page.evaluate(
    ([key, url, config, beacon, called]) => {
      const global = globalThis as unknown as {
        rudderanalytics: { RudderAnalytics: new () => Rudder };
        rudder: Rudder;
      };
      const client = (global.rudder = new global.rudderanalytics.RudderAnalytics());
      client.load(key, url, {
        getSourceConfig: () => config,
        loadIntegration: false,
        useBeacon: beacon,
        beaconQueueOptions: { flushQueueInterval: 100 },
      });
      client.identify(`user ${called}`, { plan: 'pro' });
      client.track(`${called} tracked`, { total: 9.5 });
      client.page('Docs', `${called} page`);
      client.group(`group ${called}`, {});
    },
    [KEY, relayUrl, SOURCE_CONFIG, useBeacon, name] as const,
  );
  await expectStored([
    `identify user ${name}`,
    `track ${name} tracked`,
    `page ${name} page`,
    `group group ${name}`,
  ]);
  return open;
}

testWith(CHROMIUM, 'every call of RudderStack for browsers arrives by XHR', async () => {
  const { requests, complaints } = await sendByRudderStack(false, 'xhr');
  expect(requests).toContain('POST /v1/track');
  expect(complaints).toEqual([]);
  expectAsRecorded('rudderstack for browsers, xhr');
});

testWith(
  CHROMIUM,
  'every call of RudderStack for browsers arrives by beacon, also of a page that is left',
  async () => {
    const { page, requests, complaints } = await sendByRudderStack(true, 'beacon');
    expect(new Set(requests)).toEqual(new Set(['POST /beacon/v1/batch']));
    await page.evaluate(() => {
      (globalThis as unknown as { rudder: Rudder }).rudder.track('beacon of a page that is left');
    });
    await page.goto('about:blank');
    await expectStored(['track beacon of a page that is left']);
    expect(complaints).toEqual([]);
    expectAsRecorded('rudderstack for browsers, beacon');
  },
);

testWith(
  CHROMIUM,
  'every call of analytics.js of Segment arrives, with its settings from ingest',
  async () => {
    const { page, requests, complaints } = await openPage('/segment.js');
    await page.evaluate(
      async ([writeKey, cdnURL]) => {
        interface Client {
          identify(id: string): Promise<unknown>;
          track(event: string, properties: object): Promise<unknown>;
          page(name: string): Promise<unknown>;
        }
        const { AnalyticsBrowser } = (
          globalThis as unknown as {
            AnalyticsNext: { AnalyticsBrowser: { load(options: object): Client } };
          }
        ).AnalyticsNext;
        const client = AnalyticsBrowser.load({ writeKey, cdnURL });
        await client.identify('user of segment');
        await client.track('segment tracked', { total: 9.5 });
        await client.page('segment page');
      },
      [KEY, relayUrl] as const,
    );
    await expectStored(['identify user of segment', 'track segment tracked', 'page segment page']);
    expect(requests).toEqual(
      expect.arrayContaining([`GET /v1/projects/${KEY}/settings`, 'POST /v1/t', 'POST /v1/p']),
    );
    expect(complaints).toEqual([]);
    expectAsRecorded('analytics.js of segment');
  },
);

/** What tracers on a page add to each request, also to those of other origins. */
const TRACERS: Readonly<Record<string, Record<string, string>>> = {
  'the W3C': {
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    tracestate: 'congo=t61rcWkgMzE',
    baggage: 'a=1',
  },
  Sentry: {
    'sentry-trace': '771a43a4192642f0b136d5159a501700-7a1c3f1b2c3d4e5f-1',
    baggage: 'sentry-release=1',
  },
  Datadog: {
    'x-datadog-origin': 'rum',
    'x-datadog-parent-id': '1',
    'x-datadog-sampling-priority': '1',
    'x-datadog-trace-id': '2',
  },
  'New Relic and Zipkin': {
    newrelic: 'e30=',
    'x-newrelic-id': 'a',
    b3: '1-1-1',
    'x-b3-traceid': '1',
  },
  PostHog: {
    'x-posthog-session-id': 's',
    'x-posthog-distinct-id': 'd',
    'x-posthog-window-id': 'w',
  },
};

testWith(
  CHROMIUM,
  'every call arrives to which a tracer on the page adds its headers',
  async () => {
    const { page, complaints } = await openPage();
    for (const [tracer, headers] of Object.entries(TRACERS)) {
      const status = await page.evaluate(
        async ([url, key, event, added]) => {
          const response = await fetch(`${url}/v1/t`, {
            method: 'POST',
            headers: {
              authorization: `Basic ${btoa(`${key}:`)}`,
              'content-type': 'application/json',
              ...added,
            },
            body: JSON.stringify({ userId: 'u', event }),
          });
          return response.status;
        },
        [relayUrl, KEY, `traced by ${tracer}`, headers] as const,
      );
      expect([tracer, status]).toEqual([tracer, 200]);
    }
    await expectStored(Object.keys(TRACERS).map((tracer) => `track traced by ${tracer}`));
    expect(complaints).toEqual([]);
  },
);

testWith(
  CHROMIUM,
  'no write key is in the log of ingest, also not at its finest level',
  async () => {
    await fetch(`${ingest.url}/v1/batch?writeKey=${KEY}`, { method: 'POST', body: '{' });
    await fetch(`${ingest.url}/nowhere?writeKey=${KEY}`);
    expect(ingest.process.output()).not.toContain(KEY);
  },
);

testWith(CHROMIUM, 'the code of the console for a browser sends its event', async () => {
  const { page, complaints } = await openPage('/segment.js');
  const { code } = snippetsFor(ingest.url, KEY).find(({ inPage }) => inPage)!;
  // The page has the same package without a bundler.
  const ofPage = code.replace(
    "import { AnalyticsBrowser } from '@segment/analytics-next';",
    'const { AnalyticsBrowser } = AnalyticsNext;',
  );
  expect(ofPage).not.toContain('import ');
  await page.addScriptTag({ type: 'module', content: ofPage });
  await expectStored(['track First Event']);
  expect(complaints).toEqual([]);
});
