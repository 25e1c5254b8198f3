import { type AddressInfo, connect, type Socket } from 'node:net';
import supertest from 'supertest';
import { createServer, type Server } from 'node:http';
import { ADMIN_TOKEN, type ControlUnderTest, controlUnderTest } from '../../../support/control';
import { eventually } from '../../../support/eventually';
import { FORMAT_HEADER } from '../../../../shared/model/record-format';

let control: ControlUnderTest;
let server: Server;
let port: number;
/** the server's sockets, the newest last */
let accepted: Socket[];
const opened: { close(): void }[] = [];
beforeEach(async () => {
  control = await controlUnderTest();
  server = createServer(control.app);
  accepted = [];
  server.on('connection', (socket) => accepted.push(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ port } = server.address() as AddressInfo);
});
afterEach(async () => {
  for (const each of opened.splice(0)) each.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const accept = (...calls: { userId: string; [key: string]: unknown }[]) =>
  control.memory.append(
    calls.map((call) => ({
      topic: 'messages',
      key: `src_1:${call.userId}`,
      value: JSON.stringify({ type: 'track', ...call }),
      headers: { format: FORMAT_HEADER, source: 'src_1' },
    })),
  );
const reject = (source: string) =>
  control.memory.append([
    {
      topic: 'messages.rejected',
      key: source,
      value: JSON.stringify({
        source,
        code: 'missing_event',
        message: 'track has no event',
        call: { type: 'track' },
      }),
      headers: { format: FORMAT_HEADER, source },
    },
  ]);

/** A raw reader of a stream with the received text. It can stop reading. */
function openStream(query = '', headers: Record<string, string> = {}) {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  let unread = '';
  const users: string[] = [];
  const ids: string[] = [];
  socket
    .setEncoding('utf8')
    .on('data', (chunk: string) => {
      text += chunk;
      unread += chunk;
      // Read once, and not with each look at them: some streams have tens of megabytes.
      const whole = unread.slice(0, unread.lastIndexOf('\n') + 1);
      unread = unread.slice(whole.length);
      users.push(...[...whole.matchAll(/"userId":"([^"]+)"/g)].map((match) => match[1]!));
      ids.push(...[...whole.matchAll(/^id: (.+)$/gm)].map((match) => match[1]!));
    })
    .on('error', () => undefined);
  const all = { authorization: `Bearer ${ADMIN_TOKEN}`, host: 'localhost', ...headers };
  const lines = Object.entries(all)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}: ${value}`);
  socket.write(`GET /api/v1/events/stream${query} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  opened.push({ close: () => socket.destroy() });
  return {
    socket,
    text: () => text,
    users: () => users,
    ids: () => ids,
    begun: () => eventually(() => expect(text).toContain('retry: ')),
  };
}

test('GET /events lists accepted and rejected events, with the reason', async () => {
  accept({ userId: 'kim' }, { userId: 'lee' });
  reject('src_2');
  await eventually(async () => {
    expect((await control.get('/events')).data).toHaveLength(3);
  });
  const rejected = (await control.get('/events?accepted=false')).data;
  expect(rejected).toMatchObject([
    { source: 'src_2', accepted: false, code: 'missing_event', message: 'track has no event' },
  ]);
  expect((await control.get('/events?user=kim&source=src_1&type=track')).data).toHaveLength(1);
  const first = await control.get('/events?limit=2');
  expect(await control.get(`/events?limit=2&after=${first.next}`)).toMatchObject({
    next: null,
  });
  expect((await control.call('get', '/events?type=other')).status).toBe(422);
});

test('a stream sends new events to matching readers', async () => {
  const [all, kims] = [openStream(), openStream('?user=kim')];
  await Promise.all([all.begun(), kims.begun()]);
  expect(all.text()).toMatch(/^HTTP\/1.1 200 .*\r\n/);
  expect(all.text().toLowerCase()).toContain('content-type: text/event-stream');
  accept({ userId: 'kim' }, { userId: 'lee' });
  await eventually(() => expect(all.users()).toEqual(['kim', 'lee']));
  expect(kims.users()).toEqual(['kim']);
});

test('a stream resumes after the last event of its reader', async () => {
  const first = openStream();
  await first.begun();
  accept({ userId: 'u1' }, { userId: 'u2' }, { userId: 'u3' });
  await eventually(() => expect(first.ids()).toHaveLength(3));
  first.socket.destroy();
  const again = openStream('', { 'last-event-id': first.ids()[0]! });
  await eventually(() => expect(again.users()).toEqual(['u2', 'u3']));
  accept({ userId: 'u4' });
  await eventually(() => expect(again.users()).toEqual(['u2', 'u3', 'u4']));
});

test('a stream skips and counts events for a slow reader, and others are not delayed', async () => {
  const [slow, quick] = [openStream(), openStream()];
  await Promise.all([slow.begun(), quick.begun()]);
  slow.socket.pause();
  const big = 'x'.repeat(250_000);
  // More than the system's buffers of a connection hold, and less than the limit of a reader in a
  // second.
  for (let i = 0; i < 120; i++) {
    accept({ userId: `u${i}`, big });
    await eventually(() => expect(quick.users()).toContain(`u${i}`), { everyMs: 5 });
  }
  slow.socket.resume();
  // Also if no event follows.
  await eventually(() => expect(slow.text()).toMatch(/event: skipped\ndata: {"count":\d+}/));
  accept({ userId: 'last' });
  await eventually(() => expect(slow.users()).toContain('last'));
  expect(slow.users().length).toBeLessThan(120);
});

test('the debugger shows of a newer record format only that control must be upgraded', async () => {
  const headers = { format: '99', source: 'src_1' };
  control.memory.append([
    {
      topic: 'messages',
      key: 'src_1:kim',
      value: '\u0001{"type":"track","event":"Order","userId":"kim"}',
      headers,
    },
    { topic: 'messages.rejected', key: 'src_1', value: '\u0001 call of kim', headers },
  ]);
  accept({ userId: 'lee', event: 'Paid' });
  const shown = await eventually(async () => {
    const { body } = await control.call('get', '/events');
    expect(body.data).toHaveLength(3);
    return body.data as { accepted: boolean; call: unknown; code?: string; message?: string }[];
  });
  const sentence = expect.stringMatching(
    /format 99, written by a newer Waypost than this control process\. Upgrade it/,
  );
  const [accepted, rejected] = [true, false].map((which) =>
    shown.find(({ call, accepted: is }) => is === which && !JSON.stringify(call).includes('lee')),
  );
  expect(accepted).toMatchObject({ call: sentence });
  expect(rejected).toMatchObject({ call: null, code: 'newer_format', message: sentence });
  expect(JSON.stringify(shown)).not.toContain('kim');
});

test('a stream needs a token, and refuses unknown parameters', async () => {
  const nobody = openStream('', { authorization: 'Bearer wrong' });
  await eventually(() => expect(nobody.text()).toContain(' 401 '));
  const other = openStream('?types=track');
  await eventually(() => expect(other.text()).toContain(' 422 '));
});

test('a resumed stream sends only what the connection takes, and all in the end', async () => {
  const first = openStream();
  await first.begun();
  accept({ userId: 'u0' });
  await eventually(() => expect(first.ids()).toHaveLength(1));
  first.socket.destroy();
  // 26 MB: several times the system's buffers of a connection.
  const big = 'x'.repeat(60_000);
  const users = Array.from({ length: 440 }, (_, i) => `u${i + 1}`);
  accept(...users.map((userId) => ({ userId, big })));
  await eventually(async () => {
    expect((await control.get('/events?limit=1')).data[0].call.userId).toBe('u440');
  });
  const again = openStream('', { 'last-event-id': first.ids()[0]! });
  again.socket.pause();
  await eventually(() => expect(accepted.at(-1)!.bytesWritten).toBeGreaterThan(600_000));
  expect(accepted.at(-1)!.writableLength).toBeLessThan(1_000_000);
  again.socket.resume();
  await eventually(() => expect(again.users()).toEqual(users));
  expect(again.text()).not.toContain('event: skipped');
});

describe('a stream ends', () => {
  const HOST = 'localhost';
  const newToken = async (fields: object = {}) =>
    (await control.call('post', '/tokens').send({ name: 'Kim', role: 'read_only', ...fields }))
      .body;
  const closed = (stream: { socket: Socket }) =>
    eventually(() => expect(stream.socket.closed).toBe(true));
  const openWith = async (headers: Record<string, string>) => {
    const stream = openStream('', headers);
    await stream.begun();
    return stream;
  };

  test('a stream ends when its token is deleted, and those of other tokens continue', async () => {
    const { id, token } = await newToken();
    const [kims, ours] = [await openWith({ authorization: `Bearer ${token}` }), await openWith({})];
    await control.call('delete', `/tokens/${id}`);
    accept({ userId: 'kim' });
    await closed(kims);
    expect(kims.users()).toEqual([]);
    await eventually(() => expect(ours.users()).toEqual(['kim']));
  });

  test('a stream ends when its token expires', async () => {
    const { token } = await newToken({ expiresAt: '2026-01-01T01:00:00Z' });
    const stream = await openWith({ authorization: `Bearer ${token}` });
    control.clock.now = new Date('2026-01-01T01:00:00Z');
    await closed(stream);
  });

  test('a stream ends when its session is ended', async () => {
    const begun = await supertest(control.app)
      .post('/api/v1/session')
      .set({ Host: HOST })
      .send({ token: ADMIN_TOKEN });
    const cookie = begun.headers['set-cookie']![0]!.split(';')[0]!;
    const stream = await openWith({ cookie, authorization: '' });
    await supertest(control.app)
      .delete('/api/v1/session')
      .set({ Host: HOST, Cookie: cookie, Origin: `http://${HOST}` });
    await closed(stream);
  });
});

test('a token has at most 20 streams, and other tokens still get one', async () => {
  const streams = Array.from({ length: 20 }, () => openStream());
  await Promise.all(streams.map((stream) => stream.begun()));
  const refused = openStream();
  await eventually(() => expect(refused.text()).toContain(' 429 '));
  await eventually(() => expect(refused.text()).toContain('20 open streams'));
  expect(refused.text().toLowerCase()).toContain('retry-after: 5');
  const { token } = (await control.call('post', '/tokens').send({ name: 'Kim', role: 'read_only' }))
    .body;
  await openStream('', { authorization: `Bearer ${token}` }).begun();
  streams[0]!.socket.destroy();
  await eventually(async () => {
    const next = openStream();
    await eventually(() => expect(next.text()).toMatch(/ (200|429) /));
    expect(next.text()).toContain(' 200 ');
  });
});
