import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { type Sink, startSink } from '../../../tools/harness/sink';
import { begin, type Running } from '../../support/cli';
import { ADMIN_TOKEN, type ControlUnderTest, controlUnderTest } from '../../support/control';
import { FORMAT_HEADER } from '../../../shared/model/record-format';

/**
 * `waypost listen` at a terminal, on the real control API in this process, with a real local
 * server.
 */

let control: ControlUnderTest;
let server: Server;
let local: Sink;
beforeEach(async () => {
  control = await controlUnderTest();
  server = createServer(control.app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  local = await startSink();
});
let listening: Running | undefined;
afterEach(async () => {
  await listening?.interrupt();
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
  await local.close();
});

function accept(source: string, messageId: string): void {
  const at = '2026-01-01T00:00:00.000Z';
  const times = { timestamp: at, receivedAt: at };
  const call = {
    type: 'track',
    messageId,
    event: 'Order Completed',
    userId: 'u-17',
    context: {},
    ...times,
  };
  control.memory.append([
    {
      topic: 'messages',
      key: null,
      value: JSON.stringify(call),
      headers: { format: FORMAT_HEADER, source },
    },
  ]);
}

test('keys of listen send an event again, inspect it, copy it as curl, and stop', async () => {
  const { id } = (await control.call('post', '/sources').send({ name: 'Shop' })).body as {
    id: string;
  };
  local.on('/hook', { body: 'thanks' });
  const terminal = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  const env = {
    WAYPOST_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    WAYPOST_TOKEN: ADMIN_TOKEN,
    WAYPOST_SHARED_SECRET: 'a secret that nobody types',
  };
  listening = begin(['listen', '--source', 'Shop', '--to', local.url('/hook')], {
    env,
    stdin: terminal,
  });
  await listening.said(/Keys: r send again/);
  accept(id, 'm1');
  const [first] = await local.waitFor(1);
  await listening.said(/200 +\d+ ms +track +Order Completed +u-17/);

  terminal.write('r');
  const [, again] = await local.waitFor(2);
  expect(again?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
  expect(again?.body).toEqual(first?.body);

  terminal.write('i');
  await listening.said(
    /webhook-signature: v1,[^]*"event": "Order Completed"[^]*Response: 200\nthanks/,
  );
  terminal.write('c');
  await listening.said(/curl -i -X POST 'http:\/\/127\.0\.0\.1:\d+\/hook'[^]*--data-raw '\{/);
  accept(id, 'm2');
  await local.waitFor(3);
  await listening.said(/(track +Order Completed[^]*){3}/);
  terminal.write('k');
  await listening.said(/Selected dlv_/);
  terminal.write('q');
  expect(await listening.ended).toMatchObject({
    code: 0,
    err: expect.stringContaining('received 2, forwarded 3'),
  });
});
