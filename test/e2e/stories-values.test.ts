import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Delivery, type Event } from '../../shared/api/operations';
import { type Surroundings, waypost } from '../support/cli';
import { eventually } from '../support/eventually';
import { type Connection, openStorySystem, type StorySystem } from '../support/story-system';

/**
 * What a client sent is what everybody sees: numbers that no double holds, and times in all forms.
 */

const ID = '7615917337495251231';
const PRICE = '19.989999999999998436805981327779591083526611328125';
const PROPERTIES = `{"id":${ID},"price":${PRICE},"huge":1e400}`;
let stage: StorySystem;
let home: string;
let around: Surroundings;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'waypost-values-'));
  stage = await openStorySystem({ together: true });
  const { dataDir, env } = stage.system;
  around = {
    home,
    cwd: home,
    env: { WAYPOST_DATA_DIR: dataDir, XDG_STATE_HOME: env.XDG_STATE_HOME },
  };
});
afterAll(async () => {
  await stage.close();
  rmSync(home, { recursive: true, force: true });
});

/** Sends the text of a call as it is. */
async function sendText({ source }: Connection, call: string): Promise<void> {
  const response = await fetch(`${stage.system.ingestUrl}/v1/track`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${btoa(`${source.writeKey}:`)}`,
      'content-type': 'application/json',
    },
    body: call,
  });
  expect(response.status).toBe(200);
}

/** Reads from the control API. */
async function textOf(path: string): Promise<string> {
  const { controlUrl, adminToken } = stage.system;
  const response = await fetch(`${controlUrl}/api/v1${path}`, {
    headers: { authorization: `Bearer ${adminToken}` },
  });
  return response.text();
}

test('a number that no double holds keeps its digits in each view and in a replay', async () => {
  const { sink, system } = stage;
  const connection = await stage.connect({ webhooks: [{ url: sink.url('/digits') }] });
  const { source, destination } = connection;
  const template = { body: '{"id": properties.id, "price": properties.price, "all": properties}' };
  await system.createDestination({
    sources: [source.id],
    webhooks: [{ url: sink.url('/template') }],
    request: template,
    filter: `properties.id == ${ID}`,
  });
  await stage.settled();
  const call = `{"messageId":"digits-1","userId":9007199254740993,"event":"Paid","properties":${PROPERTIES}}`;
  await sendText(connection, call);

  const [received] = await sink.waitFor(1, { path: '/digits' });
  expect(String(received!.body)).toContain(`"properties":${PROPERTIES}`);
  expect(String(received!.body)).toContain('"userId":"9007199254740993"');
  const [rendered] = await sink.waitFor(1, { path: '/template' });
  expect(String(rendered!.body)).toBe(`{"id":${ID},"price":${PRICE},"all":${PROPERTIES}}`);

  await eventually(async () => {
    expect(await textOf(`/events?source=${source.id}`)).toContain(`"properties":${PROPERTIES}`);
  });
  const id = await eventually(async () => {
    const found = JSON.parse(await textOf(`/deliveries?destination=${destination.id}`)) as {
      data: Delivery[];
    };
    const [delivery] = found.data;
    expect(delivery?.status).toBe('delivered');
    return delivery!.id;
  });
  expect(await textOf(`/deliveries/${id}`)).toContain(`"properties":${PROPERTIES}`);
  const shown = await waypost(['deliveries', 'show', id], around);
  for (const digits of [`"id": ${ID}`, `"price": ${PRICE}`, '"huge": 1e400']) {
    expect(shown.out).toContain(digits);
  }
  expect((await waypost(['deliveries', 'show', id, '--json'], around)).out).toContain(
    `"properties":${PROPERTIES}`,
  );
  expect((await waypost(['events', '--source', source.id, '--json'], around)).out).toContain(
    PROPERTIES,
  );

  for (const [nth, render] of ['as_sent', 'again'].entries()) {
    const answer = await system.control('POST', `/deliveries/${id}/replay`, { render });
    expect([answer.status, answer.body]).toEqual([202, expect.anything()]);
    const requests = await sink.waitFor(nth + 2, { path: '/digits' });
    expect(String(requests[nth + 1]!.body)).toBe(String(received!.body));
    // The number of the next replay comes from the history.
    await eventually(async () => {
      const delivery = JSON.parse(await textOf(`/deliveries/${id}`)) as Delivery;
      expect(delivery).toMatchObject({ status: 'delivered', replay: nth + 1 });
    });
  }
});

test('a back-fill lands on its time, and an event whose time cannot be read says so', async () => {
  const { sink } = stage;
  const connection = await stage.connect({ webhooks: [{ url: sink.url('/times') }] });
  const times = [
    '1396594800',
    '"1396594800000"',
    '"2014-04-04 07:00:00 UTC"',
    '"20140404T090000+0200"',
  ];
  for (const [i, time] of times.entries()) {
    await sendText(
      connection,
      `{"messageId":"time-${i}","userId":"u","event":"e","timestamp":${time}}`,
    );
  }
  await sendText(connection, '{"messageId":"time-no","userId":"u","event":"e","timestamp":"soon"}');
  const bodies = (await sink.waitFor(5, { path: '/times' })).map(
    ({ body }) => JSON.parse(String(body)) as { messageId: string; timestamp: string },
  );
  const timestamps = new Map(bodies.map(({ messageId, timestamp }) => [messageId, timestamp]));
  for (const i of times.keys()) {
    expect(timestamps.get(`time-${i}`)).toBe('2014-04-04T07:00:00.000Z');
  }

  const { id } = connection.source;
  const expected = [
    ...times.map((_, i) => [`time-${i}`, []]),
    ['time-no', ['timestamp_unreadable']],
  ];
  await eventually(async () => {
    const { data } = JSON.parse(await textOf(`/events?source=${id}`)) as { data: Event[] };
    const warnings = data.map(({ call, warnings }) => [
      (call as { messageId: string }).messageId,
      warnings,
    ]);
    expect(Object.fromEntries(warnings)).toEqual(Object.fromEntries(expected));
  });
  expect((await waypost(['events', '--source', id], around)).out).toContain('timestamp_unreadable');
});

test('what a broken batch lost stands among the events, with its first bytes', async () => {
  const { sink, system } = stage;
  const { source } = await stage.connect({ webhooks: [{ url: sink.url('/broken') }] });
  const call = (id: string) => `{"type":"track","messageId":"${id}","userId":"u","event":"E"}`;
  const pad = 'x'.repeat(10_000);
  const body = `{"batch":[${call('whole-1')},{"type":odd,"pad":"${pad}"},,${call('whole-2')},{"type":"tra`;
  const response = await fetch(`${system.ingestUrl}/v1/batch`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${source.writeKey}:`)}` },
    body,
  });
  expect(response.status).toBe(200);
  await sink.waitFor(2, { path: '/broken' });
  await eventually(async () => {
    const { data } = JSON.parse(await textOf(`/events?source=${source.id}`)) as { data: Event[] };
    const lost = data.filter(({ accepted }) => !accepted);
    expect(lost).toHaveLength(2);
    expect(lost).toContainEqual(
      expect.objectContaining({
        code: 'unreadable',
        call: expect.stringMatching(/^\{"type":odd,"pad":"x{4000,4090}$/),
      }),
    );
    expect(lost).toContainEqual(
      expect.objectContaining({ code: 'unreadable', call: '{"type":"tra' }),
    );
  });
});
