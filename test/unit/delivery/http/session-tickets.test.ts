import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClientTls } from '../../../../services/delivery/http/client-tls';
import { Sender } from '../../../../services/delivery/http/client';
import { type SendResult } from '../../../../services/delivery/http/exchange';
import { NameResolver } from '../../../../services/delivery/http/resolver';
import { StallClock } from '../../../../services/delivery/clock/stall-clock';
import { makeCertificate } from '../../../support/certificate';
import { PYTHON, testWith } from '../../../support/external-tools';

/** Session tickets, from a server of Python's: Node's sends two on each connection, and no more. */

const SERVER = `
import socket, ssl, sys
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
context.num_tickets = int(sys.argv[3])
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
while True:
    raw, _ = listener.accept()
    try:
        connection = context.wrap_socket(raw, server_side=True)
        text = b''
        while not text.endswith(b'{}'):
            part = connection.recv(65536)
            if not part: raise OSError('closed')
            text += part
        connection.sendall(b'HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\nok')
        connection.recv(1)
    except OSError:
        pass
    raw.close()
`;

const certificate = makeCertificate({ hosts: ['localhost'] });
let folder: string;
let clock: StallClock;
let sender: Sender;
let server: ChildProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'waypost-tickets-'));
  writeFileSync(join(folder, 'cert.pem'), certificate.cert);
  writeFileSync(join(folder, 'key.pem'), certificate.key);
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
  server?.kill();
  rmSync(folder, { recursive: true });
});

async function post(tickets: number): Promise<SendResult> {
  const files = ['cert.pem', 'key.pem'].map((name) => join(folder, name));
  server = spawn('python3', ['-c', SERVER, ...files, String(tickets)]);
  const [port] = (await once(server.stdout!, 'data')) as [Buffer];
  const request = {
    origin: `https://localhost:${port.toString().trim()}`,
    path: '/',
    headers: [],
    body: Buffer.from('{}'),
    tls: new ClientTls({ ca: certificate.cert }),
  };
  return new Promise((resolve) => sender.send(request, resolve));
}

testWith(PYTHON, 'eight session tickets are nothing odd', async () => {
  expect(await post(8)).toMatchObject({ ok: true, response: { status: 200 } });
});

testWith(PYTHON, 'a server that sends tickets without end fails the request', async () => {
  const error = {
    code: 'connection',
    message: 'the endpoint sent more than 8 TLS session tickets',
  };
  expect(await post(100_000)).toMatchObject({ ok: false, error });
});
