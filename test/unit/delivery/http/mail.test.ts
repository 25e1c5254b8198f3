import { type AddressInfo, createServer } from 'node:net';
import tls from 'node:tls';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { MailSender } from '../../../../services/delivery/http/mail';
import { type SendResult } from '../../../../services/delivery/http/exchange';
import { makeCertificate } from '../../../support/certificate';
import { testWith } from '../../../support/external-tools';
import { PYTHON_OPENSSL, startTlsPeer } from '../../../support/tls-peer';

/** Sends mails to a real SMTP server in this process. */

const received: string[] = [];
let server: SMTPServer;
let sender: MailSender;

const certificate = makeCertificate({ name: 'localhost' });

/**
 * Opens a server that switches to TLS, and a sender that trusts it.
 * @param options of the server; without TLS if STARTTLS is disabled
 */
async function open(options: SMTPServerOptions, user = '', query = ''): Promise<void> {
  server = new SMTPServer({
    ...certificate,
    authOptional: true,
    hideENHANCEDSTATUSCODES: true,
    onData(stream, _session, done) {
      let text = '';
      stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
      stream.on('end', () => done(null, received.push(text) ? undefined : undefined));
    },
    ...options,
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const { port } = server.server.address() as AddressInfo;
  sender = new MailSender(
    `smtp://${user}localhost:${String(port)}?from=waypost@example.com${query}`,
    { ca: certificate.cert },
  );
}

afterEach(async () => {
  received.length = 0;
  sender.close();
  await new Promise<void>((resolve) => server.close(resolve));
});

const request = {
  origin: 'mailto:ops@example.com',
  path: '',
  headers: ['webhook-id', 'dlv_1'],
  body: Buffer.from(
    JSON.stringify({ subject: '[Waypost] Webhooks to Shop fail', text: 'Failed attempts: 3' }),
  ),
};
const send = () => new Promise<SendResult>((resolve) => sender.send(request, resolve));
const refuse = (responseCode: number, text: string) =>
  Object.assign(new Error(text), { responseCode });

test('a mail has the subject, text, configured sender, and the same id on each try', async () => {
  await open({});
  expect(await send()).toMatchObject({ ok: true, response: { status: 250 } });
  await send();
  expect(received).toHaveLength(2);
  for (const text of received) {
    expect(text).toContain('From: waypost@example.com');
    expect(text).toContain('To: ops@example.com');
    expect(text).toContain('Subject: [Waypost] Webhooks to Shop fail');
    expect(text).toContain('Message-ID: <dlv_1@waypost>');
    expect(text).toContain('Failed attempts: 3');
  }
});

test.each([
  ['refuses the recipient for good', 550, 422],
  ['asks to try again later', 451, 503],
])('if the server %s, its reply is kept and the status says so', async (_, code, status) => {
  await open({ onRcptTo: (_address, _session, done) => done(refuse(code, 'not this mailbox')) });
  const result = await send();
  expect(result).toMatchObject({ ok: true, response: { status } });
  expect(result.ok && result.response.body.toString()).toContain('not this mailbox');
});

test('a refused login is a failure to retry, which shows neither user nor password', async () => {
  const options = { authOptional: false };
  await open(
    {
      ...options,
      onAuth: (auth, _session, done) => done(refuse(535, `no ${auth.username ?? ''}`)),
    },
    'kim:planted@',
  );
  const result = await send();
  expect(result).toMatchObject({ ok: false, error: { code: 'connection' } });
  expect(JSON.stringify(result)).not.toMatch(/kim|planted/);
});

describe('a password goes over TLS only', () => {
  const WITHOUT_TLS = { disabledCommands: ['STARTTLS'], allowInsecureAuth: true };

  test('a server without TLS, or who removes its offer on the way, gets nothing', async () => {
    const said: string[] = [];
    // It accepts everything, as an attacker does.
    const attacker = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.write('220 mail ESMTP\r\n');
      socket.on('data', (data) => {
        said.push(data.toString());
        socket.write(
          /^EHLO/.test(data.toString()) ? '250-mail\r\n250 AUTH PLAIN\r\n' : '250 ok\r\n',
        );
      });
    });
    await open({});
    await new Promise<void>((resolve) => attacker.listen(0, '127.0.0.1', resolve));
    sender.close();
    const { port } = attacker.address() as AddressInfo;
    sender = new MailSender(`smtp://kim:planted@127.0.0.1:${String(port)}`);
    expect(await send()).toMatchObject({ ok: false });
    expect(said.join('')).not.toMatch(/AUTH|MAIL|DATA/);
    expect(said.join('')).not.toContain(Buffer.from('planted').toString('base64').slice(0, 6));
    sender.close();
    await new Promise((resolve) => attacker.close(resolve));
  });

  test('a server that refuses to switch is tried again, with what to do', async () => {
    await open({ disabledCommands: ['STARTTLS'] }, 'kim:planted@');
    const result = await send();
    expect(result).toMatchObject({ ok: false, error: { code: 'tls' } });
    expect(JSON.stringify(result)).toContain('tls=off');
  });

  test('a server with a certificate of a stranger gets nothing', async () => {
    let asked = 0;
    const onAuth: SMTPServerOptions['onAuth'] = (_auth, _session, done) => {
      asked += 1;
      done(null, { user: 'kim' });
    };
    await open({ ...makeCertificate({ name: 'localhost' }), onAuth }, 'kim:planted@');
    expect(await send()).toMatchObject({ ok: false });
    expect(asked).toBe(0);
  });

  test('a server that switches gets the password', async () => {
    const passwords: unknown[] = [];
    await open(
      {
        authOptional: false,
        onAuth: ({ password }, session, done) => {
          passwords.push([session.secure, password]);
          done(null, { user: 'kim' });
        },
      },
      'kim:planted@',
    );
    expect(await send()).toMatchObject({ ok: true, response: { status: 250 } });
    expect(passwords).toEqual([[true, 'planted']]);
  });

  test('tls=off sends to a relay without TLS, and never a password', async () => {
    const onAuth = jest.fn();
    await open({ ...WITHOUT_TLS, onAuth }, '', '&tls=off');
    expect(await send()).toMatchObject({ ok: true, response: { status: 250 } });
    expect(received).toHaveLength(1);
    sender.close();
    const { port } = server.server.address() as AddressInfo;
    // The settings refuse this address.
    sender = new MailSender(`smtp://kim:planted@localhost:${String(port)}?tls=off`);
    expect(await send()).toMatchObject({ ok: true });
    expect(onAuth).not.toHaveBeenCalled();
  });
});

test('a server that does not accept connections is a failed connection', async () => {
  await open({});
  await new Promise<void>((resolve) => server.close(resolve));
  expect(await send()).toMatchObject({ ok: false, error: { code: 'connection' } });
});

test.each([
  ['a reply without end', '220-hello\r\n'.repeat(20_000), 'connection'],
  ['a line without end', '2'.repeat(200_000), 'connection'],
  ['silence between two bytes, without end', '220-h', 'connection'],
])('%s fails the mail within its time', async (_, greeting, code) => {
  await open({});
  const trickling = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write(greeting);
    const timer = setInterval(() => socket.write('-'), 20);
    socket.on('close', () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => trickling.listen(0, '127.0.0.1', resolve));
  sender.close();
  sender = new MailSender(`smtp://127.0.0.1:${String((trickling.address() as AddressInfo).port)}`, {
    wholeMs: 500,
  });
  expect(await send()).toMatchObject({ ok: false, error: { code } });
  sender.close();
  await new Promise((resolve) => trickling.close(resolve));
});

/** A mail has a minute and a half: longer than the tests may take. */
async function sendTo(port: string, ca: string): Promise<SendResult> {
  await open({});
  sender.close();
  sender = new MailSender(`smtps://localhost:${port}`, { ca });
  return send();
}
const CLOSED = { ok: false, error: { code: 'connection' } };

testWith(PYTHON_OPENSSL, 'session tickets without end fail the mail', async () => {
  const peer = await startTlsPeer({ tickets: 1_000_000 });
  expect(await sendTo(new URL(peer.origin).port, peer.certificate.cert)).toMatchObject(CLOSED);
  peer.close();
});

describe('a mail server of TLS 1.2 that starts the handshake again and again', () => {
  const limit = tls.CLIENT_RENEG_LIMIT;
  beforeAll(() => {
    // Node's own server would end the connection after three.
    Object.assign(tls, { CLIENT_RENEG_LIMIT: 100_000 });
  });
  afterAll(() => {
    Object.assign(tls, { CLIENT_RENEG_LIMIT: limit });
  });

  test('fails the mail', async () => {
    let again = 0;
    const server = tls.createServer({ ...certificate, maxVersion: 'TLSv1.2' }, (socket) => {
      socket.on('error', () => undefined);
      const restart = () => {
        if (socket.destroyed) return;
        socket.renegotiate({}, (error) => {
          if (error) return;
          again++;
          restart();
        });
      };
      restart();
    });
    server.on('tlsClientError', () => undefined);
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
    const { port } = server.address() as AddressInfo;
    expect(await sendTo(String(port), certificate.cert)).toMatchObject(CLOSED);
    expect(again).toBeGreaterThan(0);
    server.close();
  });
});

test('a mail server whose name has no address is a failed look-up', async () => {
  await open({});
  sender.close();
  sender = new MailSender('smtp://nowhere.invalid');
  expect(await send()).toMatchObject({ ok: false, error: { code: 'dns', phase: 'dns' } });
});
