import { ClientTls } from '../../../../services/delivery/http/client-tls';
import { Sender } from '../../../../services/delivery/http/client';
import { type SendResult } from '../../../../services/delivery/http/exchange';
import { NameResolver } from '../../../../services/delivery/http/resolver';
import { StallClock } from '../../../../services/delivery/clock/stall-clock';
import { eventually } from '../../../support/eventually';
import { testWith } from '../../../support/external-tools';
import {
  PYTHON_OPENSSL,
  startTlsPeer,
  type TlsPeer,
  type TlsPeerOptions,
} from '../../../support/tls-peer';

/** What a server may send below HTTP, in TLS: on a connection in use, and on an idle one. */

let clock: StallClock;
let sender: Sender;
let peer: TlsPeer;

beforeEach(() => {
  clock = new StallClock();
  const names = new NameResolver(1_000);
  sender = new Sender({
    timeoutMs: 5_000,
    guard: () => undefined,
    names,
    clock,
    mostConnections: 100,
  });
});

afterEach(async () => {
  await sender.close();
  clock.stop();
  peer.close();
});

async function post(options: TlsPeerOptions): Promise<SendResult> {
  peer = await startTlsPeer(options);
  const { origin, certificate } = peer;
  const tls = new ClientTls({ ca: certificate.cert });
  const request = { origin, path: '/', headers: [], body: Buffer.from('{}'), tls };
  return new Promise((resolve) => sender.send(request, resolve));
}

const TOO_MANY = {
  ok: false,
  error: { code: 'connection', message: 'the endpoint sent more than 8 TLS session tickets' },
};

testWith(PYTHON_OPENSSL, 'eight session tickets are nothing odd', async () => {
  expect(await post({ tickets: 8 })).toMatchObject({ ok: true, response: { status: 200 } });
  expect(sender.connections.idle).toBe(1);
});

testWith(PYTHON_OPENSSL, 'tickets without end in the handshake fail the request', async () => {
  expect(await post({ tickets: 100_000 })).toMatchObject(TOO_MANY);
});

testWith(PYTHON_OPENSSL, 'tickets without end before the response fail the request', async () => {
  expect(await post({ flood: 'tickets', when: 'before the response' })).toMatchObject(TOO_MANY);
});

testWith(PYTHON_OPENSSL, 'tickets without end on an idle connection end it', async () => {
  expect(await post({ flood: 'tickets' })).toMatchObject({ ok: true, response: { status: 200 } });
  await eventually(() =>
    expect([sender.connections.idle, sender.connections.inUse]).toEqual([0, 0]),
  );
});

const RENEWED = {
  ok: false,
  error: {
    code: 'connection',
    message: 'the endpoint started the TLS handshake or renewed its keys again and again',
  },
};
const KEY_UPDATES = ['key updates', 'asking key updates'] as const;

for (const flood of KEY_UPDATES) {
  testWith(
    PYTHON_OPENSSL,
    `${flood} without end before the response fail the request`,
    async () => {
      expect(await post({ flood, when: 'before the response' })).toMatchObject(RENEWED);
    },
  );

  testWith(PYTHON_OPENSSL, `${flood} without end on an idle connection end it`, async () => {
    expect(await post({ flood })).toMatchObject({ ok: true, response: { status: 200 } });
    await eventually(() =>
      expect([sender.connections.idle, sender.connections.inUse]).toEqual([0, 0]),
    );
  });
}
