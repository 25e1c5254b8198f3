import { type AddressInfo, createServer } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { MailSender } from '../../../../services/delivery/http/mail';
import { type SendResult } from '../../../../services/delivery/http/exchange';

/** Sends mails to a real SMTP server in this process. */

const received: string[] = [];
let server: SMTPServer;
let sender: MailSender;

async function open(options: SMTPServerOptions, user = ''): Promise<void> {
  server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  sender = new MailSender(`smtp://${user}127.0.0.1:${String(port)}?from=waypost@example.com`);
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
  const options = { authOptional: false, allowInsecureAuth: true };
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
  sender = new MailSender(
    `smtp://127.0.0.1:${String((trickling.address() as AddressInfo).port)}`,
    500,
  );
  expect(await send()).toMatchObject({ ok: false, error: { code } });
  sender.close();
  await new Promise((resolve) => trickling.close(resolve));
});
