import { compact, defined } from '../../shared/collections/defined';
import { PROGRAMS, type ClientProgram, runClient } from '../clients/programs';
import { type ReceivedRequest } from '../../tools/harness/sink';
import { openStorySystem, type StorySystem } from '../support/story-system';
import { testWith } from '../support/external-tools';
import { isSignedBy } from '../support/verify-signature';
import { outageStories } from './clients-outage';
import { exampleStories } from './examples';
import { pageStories } from './pages';

/**
 * Published Segment clients, unmodified, and Waypost's clients against the whole system: documented
 * bodies arrive, and nothing else.
 */

const SECRET = 'a shared secret';

let stage: StorySystem;
beforeAll(async () => {
  stage = await openStorySystem();
}, 240_000);
afterAll(() => stage.close());

interface Client extends ClientProgram {
  library: string;
  screen: boolean;
  /** go-v3 has no `Page.Category` */
  category: boolean;
}

const clients: Client[] = [
  { ...PROGRAMS.node, library: '@segment/analytics-node', screen: true, category: true },
  { ...PROGRAMS.python, library: 'analytics-python', screen: true, category: true },
  { ...PROGRAMS.pythonGzip, library: 'analytics-python', screen: true, category: true },
  { ...PROGRAMS.waypostNode, library: '@waypost/node', screen: true, category: true },
  { ...PROGRAMS.waypostGo, library: 'waypost-go', screen: true, category: true },
  { ...PROGRAMS.goV3, library: 'analytics-go', screen: true, category: false },
  { ...PROGRAMS.goV2, library: 'analytics-go', screen: false, category: true },
];

for (const client of clients) {
  testWith(
    client.needs,
    `every call of ${client.name} arrives as documented, unless its integrations exclude webhooks`,
    () => story(client),
  );
}

async function story(client: Client): Promise<void> {
  const user = `user of ${client.name}`;
  const path = `/${client.name.replace(/\W+/g, '-')}`;
  const { sink, system } = stage;
  const { source } = await stage.connect({
    webhooks: [{ url: sink.url(path) }],
    sharedSecret: SECRET,
  });
  await runClient(client, { url: system.ingestUrl, writeKey: source.writeKey, user });

  const expected = expectedBodies(user, client);
  const received = await sink.waitFor(expected.length, { path });
  const bodies = received.map(bodyOf);
  for (const body of expected) expect(bodies).toContainEqual(expect.objectContaining(body));
  expect(
    bodies
      .map((body) => body.event)
      .filter((event) => event === 'All false' || event === 'Webhooks false'),
  ).toEqual([]);
  expect(sink.deliveries(path)).toMatchObject({ distinct: expected.length, repeats: 0 });
  for (const request of received) wellFormed(request, client);
}

/** Returns the fields that identify each call in the documented body. */
function expectedBodies(user: string, client: Client): Record<string, unknown>[] {
  const track = (event: string) => ({ version: 1, type: 'track', userId: user, event });
  return compact([
    { version: 1, type: 'identify', userId: user, traits: { plan: 'pro' } },
    { ...track('Order Completed'), properties: { total: 9.5, name: 'Zoë' } },
    {
      version: 1,
      type: 'page',
      userId: user,
      name: 'Start',
      properties: expect.objectContaining({ path: '/' }),
      ...defined({ category: client.category ? 'Docs' : undefined }),
    },
    client.screen
      ? {
          version: 1,
          type: 'screen',
          userId: user,
          name: 'Home',
          properties: expect.objectContaining({ dark: true }),
        }
      : undefined,
    { version: 1, type: 'group', userId: user, groupId: 'group-1', traits: { seats: 3 } },
    { version: 1, type: 'alias', 'Previous ID': `${user}-before`, 'User ID': user },
    track('integrations absent'),
    track('All false, Webhooks true'),
  ]);
}

const ADDED = ['anonymousId', 'messageId', 'integrations'];
const KEYS: Record<string, string[]> = {
  page: [
    'version',
    'type',
    'userId',
    'timestamp',
    'properties',
    'name',
    'category',
    'context',
    ...ADDED,
  ],
  screen: ['version', 'type', 'userId', 'timestamp', 'name', 'properties', 'context', ...ADDED],
  identify: ['version', 'type', 'userId', 'timestamp', 'traits', 'context', ...ADDED],
  track: ['version', 'type', 'userId', 'timestamp', 'event', 'properties', 'context', ...ADDED],
  alias: ['version', 'type', 'Previous ID', 'User ID', 'timestamp', 'context', ...ADDED],
  group: ['version', 'type', 'userId', 'timestamp', 'groupId', 'traits', 'context', ...ADDED],
};

function wellFormed(request: ReceivedRequest, client: Client): void {
  const body = bodyOf(request);
  expect(Object.keys(body)).toEqual(KEYS[String(body.type)]!.filter((key) => key in body));
  expect(body.timestamp).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
  expect(Math.abs(Date.parse(String(body.timestamp)) - request.at)).toBeLessThan(60_000);
  expect(body.context).toMatchObject({ library: { name: client.library } });
  expect(body.messageId).toEqual(expect.any(String));
  expect(Object.values(body)).not.toContain(null);
  expect(isSignedBy(SECRET, request)).toBe(true);
}

function bodyOf(request: ReceivedRequest): Record<string, unknown> {
  return JSON.parse(request.body.toString()) as Record<string, unknown>;
}

describe('the senders of examples/', () => exampleStories(() => stage));

describe('the blocks of the pages', () => pageStories(() => stage));

describe('while ingest is killed and restarted', () => outageStories(() => stage));
