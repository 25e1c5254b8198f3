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

/** Each new connection looks up the name of its server. */
class CountedNames extends NameResolver {
  lookups = 0;

  override resolve(hostname: string): ReturnType<NameResolver['resolve']> {
    this.lookups++;
    return super.resolve(hostname);
  }
}

let clock: StallClock;
let names: CountedNames;
let sender: Sender;
let peer: TlsPeer;

beforeEach(() => {
  clock = new StallClock();
  names = new CountedNames(1_000);
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
  return postAgain();
}

function postAgain(): Promise<SendResult> {
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

const LEFT_ALONE = {
  ok: false,
  error: {
    code: 'connection',
    message:
      'the endpoint sent more than 8 TLS session tickets, and is not connected to for 10 s after that',
  },
};

testWith(PYTHON_OPENSSL, 'after tickets without end no further connection is opened', async () => {
  await post({ tickets: 100_000 });
  const { lookups } = names;
  expect(await postAgain()).toMatchObject(LEFT_ALONE);
  expect(names.lookups).toBe(lookups);
});

testWith(PYTHON_OPENSSL, 'tickets without end on one of ten connections end all ten', async () => {
  peer = await startTlsPeer({ tickets: 100_000 });
  const results = await Promise.all(Array.from({ length: 10 }, postAgain));
  const messages = results.map((result) => !result.ok && result.error.message);
  expect(messages.filter((message) => message === TOO_MANY.error.message)).toHaveLength(1);
  expect(messages.filter((message) => message === LEFT_ALONE.error.message)).toHaveLength(9);
});

testWith(
  PYTHON_OPENSSL,
  'after tickets without end on an idle connection no further connection is opened',
  async () => {
    expect(await post({ flood: 'tickets' })).toMatchObject({ ok: true });
    await eventually(() => expect(sender.connections.idle).toBe(0));
    const { lookups } = names;
    expect(await postAgain()).toMatchObject(LEFT_ALONE);
    expect(names.lookups).toBe(lookups);
  },
);

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
