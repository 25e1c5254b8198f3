import { createServer, type Server } from 'node:http';
import { openApi } from '../../../cli/connect/api';
import { follow } from '../../../cli/listen/follow';
import { type Event } from '../../../shared/api/operations';
import { ADMIN_TOKEN, type ControlUnderTest, controlUnderTest } from '../../support/control';
import { begin as beginCommand } from '../../support/cli';
import { eventually } from '../../support/eventually';
import { freePort } from '../../support/free-port';
import { FORMAT_HEADER } from '../../../shared/model/record-format';

/** Follows events of the real control API, each once, through every kind of broken connection. */

let control: ControlUnderTest;
let server: Server;
let port = 0;
let following: Following[];
beforeEach(async () => {
  control = await controlUnderTest();
  following = [];
  // The server comes back on its port, which no outgoing connection may take until then.
  port = await freePort();
  await listen();
});
afterEach(async () => {
  for (const each of following) await each.end();
  await hangUp();
});

async function listen(): Promise<void> {
  server = createServer(control.app);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
}

async function hangUp(): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}

let sent = 0;
/** Accepts calls now, and returns their numbers. */
function accept(count: number): number[] {
  const numbers = Array.from({ length: count }, () => ++sent);
  control.memory.append(
    numbers.map((n) => ({
      topic: 'messages',
      key: null,
      value: JSON.stringify({ type: 'track', messageId: String(n), event: 'E', userId: 'u' }),
      headers: { format: FORMAT_HEADER, source: 'src_1' },
    })),
  );
  return numbers;
}

async function known(count: number): Promise<void> {
  await eventually(async () => {
    const { body } = await control.call('get', '/events?limit=200');
    expect((body as { data: unknown[] }).data).toHaveLength(count);
  });
}

interface Following {
  numbers(): number[];
  gaps: number[];
  said: string[];
  ready: Promise<void>;
  end(): Promise<void>;
  ended: Promise<unknown>;
}

function begin(replay = 0, token = ADMIN_TOKEN): Following {
  const place = { url: `http://127.0.0.1:${port}`, ingestUrl: undefined, token, from: 'a test' };
  const events: Event[] = [];
  const gaps: number[] = [];
  const said: string[] = [];
  const stop = new AbortController();
  let becomeReady = () => {};
  const ready = new Promise<void>((resolve) => (becomeReady = resolve));
  const ended = follow({
    api: openApi(place),
    query: { source: 'src_1' },
    replay,
    stop: stop.signal,
    onReady: becomeReady,
    onEvent: (event) => events.push(event),
    onGap: (atLeast) => gaps.push(atLeast),
    onAway: () => said.push('away'),
    onBack: () => said.push('back'),
  }).catch((error: unknown) => error);
  const one: Following = {
    numbers: () => events.map(({ call }) => Number((call as { messageId: string }).messageId)),
    gaps,
    said,
    ready,
    ended,
    end: async () => {
      stop.abort();
      await ended;
    },
  };
  following.push(one);
  return one;
}

/**
 * Starts a follower and waits for its first event, because only an event proves that it is
 * connected.
 */
async function beginConnected(): Promise<{ one: Following; first: number[] }> {
  const one = begin();
  const first: number[] = [];
  await eventually(() => {
    first.push(...accept(1));
    expect(one.numbers().length).toBeGreaterThan(0);
  });
  await eventually(() => expect(one.numbers()).toEqual(expect.arrayContaining(first.slice(-1))));
  return { one, first: one.numbers() };
}

test('a follower that says it is ready misses no later event', async () => {
  const one = begin();
  await one.ready;
  const accepted = accept(3);
  await eventually(() => expect(one.numbers()).toEqual(accepted));
});

test('after a broken connection the follower gets missed events once and in order', async () => {
  const { one, first } = await beginConnected();
  await hangUp();
  const missed = accept(50);
  await eventually(() => expect(one.said).toContain('away'));
  await listen();
  await eventually(() => expect(one.numbers()).toHaveLength(first.length + 50));
  expect(one.numbers()).toEqual([...first, ...missed]);
  const after = accept(3);
  await eventually(() => expect(one.numbers()).toEqual([...first, ...missed, ...after]));
  expect(one.said).toEqual(['away', 'back']);
  expect(one.gaps).toEqual([]);
});

test('the follower fetches the events that the stream left out of a burst', async () => {
  const { one, first } = await beginConnected();
  const many = accept(450);
  // The stream reports the events that it left out with the next event, in the next second.
  await eventually(
    () => {
      many.push(...accept(1));
      expect(one.numbers().length).toBeGreaterThan(first.length + 400);
    },
    { everyMs: 200 },
  );
  await eventually(() => expect(one.numbers()).toHaveLength(first.length + many.length));
  expect([...one.numbers()].sort((a, b) => a - b)).toEqual([...first, ...many]);
  expect(one.gaps).toEqual([]);
});

test('the follower reports a gap if the server has dropped some of the missed events', async () => {
  const { one, first } = await beginConnected();
  await hangUp();
  accept(1_000);
  await eventually(() => expect(one.said).toContain('away'));
  await listen();
  await eventually(() => expect(one.gaps).toHaveLength(1));
  expect(one.numbers().length).toBeGreaterThanOrEqual(first.length + 500);
  expect(new Set(one.numbers()).size).toBe(one.numbers().length);
});

test('a replay of 3 gives the last three events first, and then new ones', async () => {
  const before = accept(5);
  await known(5);
  const one = begin(3);
  await eventually(() => expect(one.numbers()).toEqual(before.slice(2)));
  const after = accept(1);
  await eventually(() => expect(one.numbers()).toEqual([...before.slice(2), ...after]));
});

test('without a replay the follower gets no old events, even when it reconnects', async () => {
  accept(5);
  await known(5);
  const { one, first } = await beginConnected();
  await hangUp();
  await eventually(() => expect(one.said).toContain('away'));
  await listen();
  const after = accept(1);
  await eventually(() => expect(one.numbers()).toEqual([...first, ...after]));
});

test('without a replay the follower gets no earlier event with a later timestamp', async () => {
  accept(2);
  const [early] = control.memory.records('messages');
  Object.defineProperty(early, 'timestampMs', { value: Date.now() + 5_000 });
  await known(2);
  const { one, first } = await beginConnected();
  await hangUp();
  await eventually(() => expect(one.said).toContain('away'));
  await listen();
  const after = accept(1);
  await eventually(() => expect(one.numbers()).toContain(after[0]));
  expect(one.numbers()).toEqual([...first, ...after]);
});

test('an unknown token ends the follower with one sentence and no further attempt', async () => {
  expect(await begin(0, 'not-the-token-of-anybody').ended).toMatchObject({
    message:
      `http://127.0.0.1:${port} does not know this token. Run \`waypost login\`, or set ` +
      'WAYPOST_TOKEN.',
  });
});

test('waypost tail prints events once, through a break, until Ctrl-C gives code 0', async () => {
  const env = { WAYPOST_URL: `http://127.0.0.1:${port}`, WAYPOST_TOKEN: ADMIN_TOKEN };
  const tail = beginCommand(['tail', '--json'], { env });
  await tail.said(/Following events/);
  const first = accept(3);
  await tail.said(new RegExp(`"messageId":"${String(first.at(-1))}"`));
  await hangUp();
  const missed = accept(3);
  await tail.said(/Reconnecting/);
  await listen();
  await tail.said(/The stream is back/);
  const later = accept(1);
  await tail.said(new RegExp(`"messageId":"${String(later[0])}"`));
  const { code, json } = await tail.interrupt();
  const numbers = json.map(({ call }) => Number((call as { messageId: string }).messageId));
  expect([code, numbers]).toEqual([0, [...first, ...missed, ...later]]);
});
