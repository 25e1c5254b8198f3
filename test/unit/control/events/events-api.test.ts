import { type AddressInfo, connect } from 'node:net';
import { createServer, type Server } from 'node:http';
import { ADMIN_TOKEN, type ControlUnderTest, controlUnderTest } from '../../../support/control';
import { eventually } from '../../../support/eventually';

let control: ControlUnderTest;
let server: Server;
let port: number;
const opened: { close(): void }[] = [];
beforeEach(async () => {
  control = await controlUnderTest();
  server = createServer(control.app);
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
      headers: { format: '1', source: 'src_1' },
    })),
  );
const reject = (source: string) =>
  control.memory.append([
    {
      topic: 'messages.rejected',
      key: source,
      value: JSON.stringify({ source, code: 'missing_event', message: 'track has no event', call: { type: 'track' } }),
      headers: { format: '1', source },
    },
  ]);

/** A raw reader of a stream: what came so far, and a way to stop reading. */
function openStream(query = '', headers: Record<string, string> = {}) {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket
    .setEncoding('utf8')
    .on('data', (chunk: string) => (text += chunk))
    .on('error', () => undefined);
  const all = { authorization: `Bearer ${ADMIN_TOKEN}`, host: 'localhost', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  socket.write(`GET /api/v1/events/stream${query} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  opened.push({ close: () => socket.destroy() });
  return {
    socket,
    text: () => text,
    users: () => [...text.matchAll(/"userId":"([^"]+)"/g)].map((match) => match[1]),
    ids: () => [...text.matchAll(/^id: (.+)$/gm)].map((match) => match[1]!),
    begun: () => eventually(() => expect(text).toContain('retry: ')),
  };
}

it('lists what was accepted and what was rejected, and why', async () => {
  accept({ userId: 'kim' }, { userId: 'lee' });
  reject('src_2');
  await eventually(async () => {
    expect((await control.call('get', '/events')).body.data).toHaveLength(3);
  });
  const rejected = (await control.call('get', '/events?accepted=false')).body.data;
  expect(rejected).toMatchObject([
    { source: 'src_2', accepted: false, code: 'missing_event', message: 'track has no event' },
  ]);
  expect((await control.call('get', '/events?user=kim&source=src_1&type=track')).body.data).toHaveLength(1);
  const first = (await control.call('get', '/events?limit=2')).body;
  expect((await control.call('get', `/events?limit=2&after=${first.next}`)).body).toMatchObject({ next: null });
  expect((await control.call('get', '/events?type=other')).status).toBe(422);
});

it('passes on what comes, to who wants it', async () => {
  const [all, kims] = [openStream(), openStream('?user=kim')];
  await Promise.all([all.begun(), kims.begun()]);
  expect(all.text()).toMatch(/^HTTP\/1.1 200 .*\r\n/);
  expect(all.text().toLowerCase()).toContain('content-type: text/event-stream');
  accept({ userId: 'kim' }, { userId: 'lee' });
  await eventually(() => expect(all.users()).toEqual(['kim', 'lee']));
  expect(kims.users()).toEqual(['kim']);
});

it('goes on after the event that a reader saw last', async () => {
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

it('leaves out, and counts, what a reader does not take; others are not held up', async () => {
  const [slow, quick] = [openStream(), openStream()];
  await Promise.all([slow.begun(), quick.begun()]);
  slow.socket.pause();
  const big = 'x'.repeat(250_000);
  // Beyond what the system's buffers of a connection hold, and fewer than a reader is given in a second.
  for (let i = 0; i < 120; i++) {
    accept({ userId: `u${i}`, big });
    await eventually(() => expect(quick.users()).toContain(`u${i}`), { everyMs: 5 });
  }
  slow.socket.resume();
  await eventually(() => {
    accept({ userId: 'last' });
    expect(slow.users()).toContain('last');
  });
  expect(slow.text()).toMatch(/event: skipped\ndata: {"count":\d+}/);
  expect(slow.users().length).toBeLessThan(120);
});

it('asks for the token, and refuses what it does not know', async () => {
  const nobody = openStream('', { authorization: 'Bearer wrong' });
  await eventually(() => expect(nobody.text()).toContain(' 401 '));
  const other = openStream('?types=track');
  await eventually(() => expect(other.text()).toContain(' 422 '));
});
