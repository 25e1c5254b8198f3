import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { RE2JS } from '@bufbuild/re2';
import supertest from 'supertest';
import { Entry } from '../../../../services/control/debugger/buffer';
import { FORMAT_HEADER } from '../../../../shared/model/record-format';
import { type ControlUnderTest, controlUnderTest } from '../../../support/control';

/** What a read-only token can cause with expressions, counted as work and not as time. */

let control: ControlUnderTest;
let reader: string;
/** ms that each look at the clock takes: 0 at first */
let stepMs: number;
let nowMs: number;
beforeEach(async () => {
  stepMs = nowMs = 0;
  control = await controlUnderTest({ workClock: () => (nowMs += stepMs) });
  const made = await control.call('post', '/tokens').send({ name: 'ro', role: 'read_only' });
  reader = made.body.token;
});
afterEach(() => {
  jest.restoreAllMocks();
});

const ask = (path: string, body: object) =>
  supertest(control.app).post(`/api/v1${path}`).set('Authorization', `Bearer ${reader}`).send(body);
const list = (path: string) =>
  supertest(control.app).get(`/api/v1${path}`).set('Authorization', `Bearer ${reader}`);
const accept = (count: number, source = 'src_1') =>
  control.memory.append(
    Array.from({ length: count }, (_, i) => ({
      topic: 'messages',
      key: `${source}:u`,
      value: JSON.stringify({
        type: 'track',
        event: 'e',
        messageId: `m${i}`,
        userId: 'u',
        timestamp: '2026-01-01T00:00:00.000Z',
        receivedAt: '2026-01-01T00:00:00.000Z',
      }),
      headers: { format: FORMAT_HEADER, source },
    })),
  );
/** Compiling one of them would take 0.5 s. */
const huge = (i: number) => `name.matches("${'(a|bb|c){1000}'.repeat(34)}z${i}") ? "a" : "b"`;
const headersOf = (count: number, text: (i: number) => string) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-h${i}`, text(i)]));
const previewOf = (headers: object) =>
  ask('/destinations/preview', { destination: { request: { headers } } });

test('a preview with too many headers is refused before any of them is compiled', async () => {
  const compile = jest.spyOn(RE2JS, 'compile');
  for (const text of [huge, () => '"x".matches("a")?"a":"b"']) {
    const { status, body } = await previewOf(headersOf(1_500, text));
    expect(status).toBe(422);
    expect(body.errors).toEqual([
      {
        pointer: '#/destination/request/headers',
        detail: 'there are 1500 headers; at most 20 are allowed',
      },
    ]);
  }
  expect(compile).not.toHaveBeenCalled();
});

test('a preview with twenty huge patterns names each, and compiles none', async () => {
  const compile = jest.spyOn(RE2JS, 'compile');
  const { status, body } = await previewOf(headersOf(20, huge));
  expect(status).toBe(422);
  expect(body.errors).toHaveLength(20);
  expect(body.errors[0]).toEqual({
    pointer: '#/destination/request/headers/x-h0',
    detail: expect.stringContaining('the pattern is too large'),
  });
  expect(compile).not.toHaveBeenCalled();
});

test('a preview compiles each text once, and refuses more than its budget', async () => {
  const compile = jest.spyOn(RE2JS, 'compile');
  const text = () => 'name.matches("^a") ? "a" : "b"';
  expect((await previewOf(headersOf(20, text))).status).toBe(200);
  expect(compile).toHaveBeenCalledTimes(1);
  // Each compilation takes at least two looks at the clock.
  stepMs = 50;
  compile.mockClear();
  const { status, body } = await previewOf(headersOf(20, (i) => `name.matches("^${i}")?"a":"b"`));
  expect([status, body.type]).toEqual([422, 'urn:waypost:problem:too_much_work']);
  expect(body.detail).toContain('Shorten them, or send fewer');
  expect(compile.mock.calls.length).toBeLessThan(12);
});

test('forty destinations without an expression are created at once', async () => {
  const fields = { name: 'Hooks', type: 'webhooks', sources: [] };
  const webhooks = [{ url: 'https://a.example.com/' }];
  const made = await Promise.all(
    Array.from({ length: 40 }, () =>
      control.call('post', '/destinations').send({ ...fields, webhooks }),
    ),
  );
  expect(new Set(made.map(({ status }) => status))).toEqual(new Set([201]));
});

test('a trial ends with its budget, and shows what it tried', async () => {
  accept(100);
  stepMs = 20;
  const { status, body } = await ask('/filters/try', { filter: 'true', limit: 100 });
  expect(status).toBe(200);
  expect(body.tried).toBeGreaterThan(3);
  expect(body.tried).toBeLessThan(30);
});

test('trials leave no automaton behind', async () => {
  accept(50);
  const compiled: WeakRef<RE2JS>[] = [];
  const compile = RE2JS.compile.bind(RE2JS);
  jest.spyOn(RE2JS, 'compile').mockImplementation((text) => {
    const regex = compile(text);
    compiled.push(new WeakRef(regex));
    return regex;
  });
  for (let i = 0; i < 30; i++) {
    const filter = `messageId.matches("[0-9a-z]*[0-7][0-9a-z]{4${i % 10}}[g-z]${i % 7}?[x-z]{${i + 1}}")`;
    expect((await ask('/filters/try', { filter, limit: 50 })).body.tried).toBe(50);
  }
  jest.restoreAllMocks();
  expect(compiled).toHaveLength(30);
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // A weak reference holds its object to the end of the turn that made it.
  await nextTurn();
  collect();
  const left = compiled.filter((each) => each.deref() !== undefined);
  expect(left.length).toBeLessThan(5);
});

test('a source that is named a thousand times is looked at once', async () => {
  accept(500);
  const sources = Array.from({ length: 1_000 }, () => 'src_1');
  const { body } = await ask('/filters/try', { filter: 'true', sources, limit: 500 });
  expect(body).toMatchObject({ tried: 500, matched: 500 });
  const events = (body.results as { event: string }[]).map(({ event }) => event);
  expect(new Set(events).size).toBe(500);
});

test('a search that finds nothing ends with its budget, and its next page continues', async () => {
  accept(100);
  const view = jest.spyOn(Entry.prototype, 'view');
  stepMs = 20;
  const looked: number[] = [];
  let after = '';
  do {
    view.mockClear();
    const { status, body } = await list(`/events?user=nobody${after}`);
    expect([status, body.data]).toEqual([200, []]);
    looked.push(view.mock.calls.length);
    after = body.next === null ? '' : `&after=${body.next}`;
  } while (after !== '');
  expect(looked.reduce((sum, count) => sum + count)).toBe(100);
  expect(Math.max(...looked)).toBeLessThan(30);
});

test('a stream that resumes looks for its events piece by piece', async () => {
  accept(101);
  const { body } = await list('/events?limit=101');
  const oldest = body.data.at(-1).id as string;
  const view = jest.spyOn(Entry.prototype, 'view');
  stepMs = 40;
  const stream = await streamOf('?user=nobody', { 'last-event-id': oldest });
  expect(view.mock.calls.length).toBeGreaterThan(0);
  expect(view.mock.calls.length).toBeLessThan(10);
  stream.close();
});

test('a list of events leaves out where one went if that takes too much work', async () => {
  const source = (await control.call('post', '/sources').send({ name: 'Shop' })).body.id as string;
  for (let i = 0; i < 40; i++) {
    await control.destination({ name: `Costly ${i}`, sources: [source] });
  }
  accept(3, source);
  const shown = async (query = '') => {
    const { status, body } = await list(`/events${query}`);
    expect(status).toBe(200);
    return body as { data: { destinations?: object[] }[]; next: string | null };
  };
  const known = await shown();
  expect(known.data.map(({ destinations }) => destinations?.length)).toEqual([40, 40, 40]);
  stepMs = 20;
  const first = await shown();
  expect(first.data.map(({ destinations }) => destinations)).toEqual([undefined]);
  const second = await shown(`?after=${first.next}`);
  expect(second.data).toHaveLength(1);
  expect((await shown(`?after=${second.next}`)).next).toBeNull();
});

test('an event is rendered once for all streams', async () => {
  const opened = await Promise.all(
    ['', '?source=src_1', '?accepted=true'].map((query) => streamOf(query)),
  );
  const view = jest.spyOn(Entry.prototype, 'view');
  accept(10);
  await Promise.all(opened.map((each) => each.has(10)));
  expect(view).toHaveBeenCalledTimes(10);
  for (const each of opened) each.close();
});

test('streams of a token share time for rendering, and what they missed comes later', async () => {
  accept(8);
  const { body } = await list('/events?limit=8');
  const oldest = body.data.at(-1).id as string;
  const view = jest.spyOn(Entry.prototype, 'view');
  stepMs = 40;
  const stream = await streamOf('', { 'last-event-id': oldest });
  expect(view.mock.calls.length).toBeLessThan(5);
  await stream.has(7);
  stream.close();
});

/** Opens a stream of the reader, on a server of its own. */
async function streamOf(query: string, headers: Record<string, string> = {}) {
  const server = control.app.listen(0);
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  const abort = new AbortController();
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/events/stream${query}`, {
    headers: { authorization: `Bearer ${reader}`, ...headers },
    signal: abort.signal,
  });
  const text = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let events = 0;
  return {
    has: async (count: number) => {
      while (events < count) {
        const { value = '' } = await text.read();
        events += value.match(/^id: /gm)?.length ?? 0;
      }
    },
    close: () => {
      text.cancel().catch(() => undefined);
      abort.abort();
      server.closeAllConnections();
      server.close();
    },
  };
}
