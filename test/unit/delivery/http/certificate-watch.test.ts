import { type AddressInfo } from 'node:net';
import tls from 'node:tls';
import {
  CertificateWatch,
  type SeenCertificate,
} from '../../../../services/delivery/http/certificate-watch';
import { Sender } from '../../../../services/delivery/http/client';
import { ClientTls } from '../../../../services/delivery/http/client-tls';
import { NameResolver } from '../../../../services/delivery/http/resolver';
import { certificateRecord } from '../../../../services/delivery/decisions/side-events';
import { StallClock } from '../../../../services/delivery/clock/stall-clock';
import { type Certificate, makeCertificate } from '../../../support/certificate';

/** The certificates of servers, as delivery sees them in TLS handshakes. */

const DAY_MS = 86_400_000;
const NOW = Date.now();
const CA = makeCertificate({
  name: 'ours',
  authority: true,
  notAfter: new Date(NOW + 400 * DAY_MS),
});
/** A certificate that is valid from and to these days from now. */
const valid = (from: number, to: number): Certificate & { ends: number } => {
  const [notBefore, notAfter] = [from, to].map((days) => new Date(NOW + days * DAY_MS)) as [
    Date,
    Date,
  ];
  // A certificate names whole seconds.
  const ends = Math.floor(notAfter.getTime() / 1_000) * 1_000;
  return { ...makeCertificate({ name: 'the server', issuer: CA, notBefore, notAfter }), ends };
};

let peer: tls.Server | undefined;
let sender: Sender;
let clock: StallClock;
let told: SeenCertificate[];
let now: number;

beforeEach(() => {
  [told, now] = [[], NOW];
  clock = new StallClock();
  const certificates = new CertificateWatch(
    (seen) => told.push(seen),
    () => now,
  );
  const names = new NameResolver(1_000);
  sender = new Sender({
    timeoutMs: 2_000,
    guard: () => undefined,
    names,
    clock,
    mostConnections: 100,
    certificates,
  });
});
afterEach(async () => {
  await sender.close();
  clock.stop();
  peer?.close();
});

/** Each connection ends after its response, and continues no TLS session. */
async function listen({ key, cert }: Certificate): Promise<void> {
  peer = tls.createServer(
    { key, cert, sessionTimeout: 1, ticketKeys: Buffer.alloc(48, Math.random() * 255) },
    (socket) => {
      socket.on('error', () => undefined);
      socket.on('data', () => socket.end('HTTP/1.1 204 No Content\r\n\r\n'));
    },
  );
  await new Promise<void>((resolve) => peer!.listen(0, '127.0.0.1', resolve));
}
const port = () => (peer!.address() as AddressInfo).port;
const origin = () => `https://localhost:${String(port())}`;

async function post(): Promise<void> {
  const request = {
    origin: origin(),
    path: '/',
    headers: [],
    body: Buffer.from('{}'),
    tls: new ClientTls({ ca: CA.cert }),
  };
  const result = await new Promise<{ ok: boolean }>((resolve) => sender.send(request, resolve));
  expect(result).toMatchObject({ ok: true });
}

test.each<[string, number, number, boolean]>([
  ['that ends soon', -300, 20, true],
  ['that is new', -1, 90, true],
  ['far from its begin and its end', -100, 100, false],
])('the certificate %s of a server is told: %#', async (_, from, to, isTold) => {
  const certificate = valid(from, to);
  await listen(certificate);
  await post();
  expect(told).toEqual(isTold ? [{ origin: origin(), notAfter: certificate.ends }] : []);
});

test('a certificate is told once an hour, and its replacement at once', () => {
  const handshake = (certificate: Certificate & { ends: number }) => {
    const dates = {
      validFrom: new Date(NOW - DAY_MS).toUTCString(),
      validTo: new Date(certificate.ends).toUTCString(),
    };
    watch.handshake('https://a.example', { getPeerX509Certificate: () => dates as never });
  };
  const watch = new CertificateWatch(
    (seen) => told.push(seen),
    () => now,
  );
  const [old, renewed] = [valid(-80, 10), valid(-1, 89)];
  handshake(old);
  handshake(old);
  expect(told.map(({ notAfter }) => notAfter)).toEqual([old.ends]);
  handshake(renewed);
  handshake(renewed);
  expect(told.map(({ notAfter }) => notAfter)).toEqual([old.ends, renewed.ends]);
  now += 3_600_000;
  handshake(renewed);
  expect(told).toHaveLength(3);
});

test('the event of a certificate names the origin and no path', () => {
  const { key, value } = certificateRecord({ origin: 'https://a.example', notAfter: NOW }, NOW);
  const at = new Date(NOW).toISOString();
  expect([key, JSON.parse(String(value))]).toEqual([
    'https://a.example',
    { kind: 'certificate', origin: 'https://a.example', notAfter: at, at },
  ]);
});
