import { SERVICES, type ServiceName } from '../../bin/service-list';
import { eventually } from '../support/eventually';
import { aTrack } from '../support/factories';
import { healthPortOf } from '../support/service';
import { openStorySystem, type StorySystem } from '../support/story-system';
import { isSignedBy } from '../support/verify-signature';

/**
 * The one story of `npm run test:quick`: a call in, a signed webhook out, and the work of all
 * services in one process.
 */

const SECRET = 'a secret of the tests';
let stage: StorySystem;
beforeAll(async () => {
  stage = await openStorySystem({ together: true });
});
afterAll(() => stage.close());

const health = (name: ServiceName, path: string) =>
  fetch(`http://127.0.0.1:${healthPortOf(stage.system.env, name)}${path}`);
const metricsOf = async (name: ServiceName) => {
  const answer = await health(name, '/metrics');
  return (await answer.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
};
/** Returns the records that a service has sent to or read from topics, by topic. */
const records = (lines: readonly string[], what: 'sent' | 'consumed') =>
  Object.fromEntries(
    lines
      .filter((line) => line.startsWith(`messaging_client_${what}_messages_total`))
      .map((line) => [
        /messaging_destination_name="([^"]*)"/.exec(line)?.[1],
        Number(line.split(' ').at(-1)),
      ]),
  );

test('a call leaves as a signed POST with its event, its user and its properties', async () => {
  const { sink } = stage;
  const { send } = await stage.connect({
    webhooks: [{ url: sink.url('/first') }],
    sharedSecret: SECRET,
  });
  const { messageId, userId, event, properties } = await send(aTrack());
  const [request] = await sink.waitFor(1, { path: '/first' });
  expect(request?.method).toBe('POST');
  expect(JSON.parse(String(request?.body))).toMatchObject({
    type: 'track',
    messageId,
    userId,
    event,
    properties,
  });
  expect(isSignedBy(SECRET, request!)).toBe(true);
});

test('services of one process deliver and retry, each with a health port and metrics', async () => {
  const { sink } = stage;
  sink.on('/hook', [{ status: 503 }, {}]);
  const connection = await stage.connect({ webhooks: [{ url: sink.url('/hook') }] });
  const call = await connection.send(aTrack());
  const requests = await sink.waitFor(2, { path: '/hook' });
  expect(
    requests.map(({ body }) => (JSON.parse(String(body)) as { messageId: string }).messageId),
  ).toEqual([call.messageId, call.messageId]);

  for (const name of SERVICES) {
    const ready = await health(name, '/readyz');
    expect([name, ready.status]).toEqual([name, 200]);
    const lines = await metricsOf(name);
    expect(lines.filter((line) => !line.includes(`service="${name}"`))).toEqual([]);
    expect(lines.filter((line) => line.startsWith('waypost_info'))).toHaveLength(1);
  }
  const ingest = await metricsOf('ingest');
  expect(Object.keys(records(ingest, 'sent'))).toEqual(['messages']);
  expect(records(ingest, 'consumed')).toEqual({});
  await eventually(async () => {
    expect(Object.keys(records(await metricsOf('router'), 'sent'))).toEqual(['webhooks']);
    expect(records(await metricsOf('retry'), 'sent')).toEqual({
      'webhooks.due': 1,
      // It learns the time of the brokers from its own note.
      'webhooks.recalls': 1,
    });
    expect(Object.keys(records(await metricsOf('delivery'), 'consumed')).sort()).toEqual([
      'webhooks',
      'webhooks.due',
    ]);
  });
});

test('services end with their process: those accepting work first, and delivery last', async () => {
  const { system } = stage;
  const from = system.output().length;
  expect(await system.stop()).toBe(0);
  const stopped = system
    .output()
    .slice(from)
    .split('\n')
    .flatMap((line) => /"service":"(\w+)".*"msg":"service\.stopped"/.exec(line)?.[1] ?? []);
  expect(stopped.slice(0, 2).sort()).toEqual(['control', 'ingest']);
  expect(stopped[2]).toBe('audiences');
  expect(stopped.slice(3, 5).sort()).toEqual(['retry', 'router']);
  expect(stopped.slice(5)).toEqual(['delivery']);
});
