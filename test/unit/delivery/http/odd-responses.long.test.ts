import { type Socket } from 'node:net';
import { NameResolver } from '../../../../services/delivery/http/resolver';
import { Sender } from '../../../../services/delivery/http/client';
import { type SendResult } from '../../../../services/delivery/http/exchange';
import { StallClock } from '../../../../services/delivery/clock/stall-clock';
import { eventually } from '../../../support/eventually';
import {
  floods,
  type RawReceiver,
  startRawReceiver,
  type Treatment,
  writes,
} from '../../../support/raw-receiver';

/**
 * Odd responses of raw receivers: a status that has arrived decides, and nothing before it is
 * endless.
 */

const OK = 'HTTP/1.1 200 OK\r\n';
const PLAIN = `${OK}content-length: 2\r\n\r\nok`;
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`;
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const TIMEOUT_MS = 1_500;

let receiver: RawReceiver;
let sender: Sender;
let clock: StallClock;
/** of the first request, the second, …; the last one repeats */
let treatments: Treatment[];
let unasked: number;

beforeEach(async () => {
  unasked = 0;
  let next = 0;
  receiver = await startRawReceiver(() => treatments[Math.min(next++, treatments.length - 1)]!);
  open();
});

afterEach(async () => {
  await receiver.close();
  await sender.close();
  clock.stop();
});

function open(): void {
  clock = new StallClock();
  sender = new Sender({
    timeoutMs: TIMEOUT_MS,
    guard: () => undefined,
    names: new NameResolver(1_000),
    clock,
    mostConnections: 100,
    onUnasked: () => unasked++,
  });
}

function post(): Promise<SendResult> {
  const request = { origin: receiver.origin, path: '/', headers: [], body: Buffer.from('{}') };
  return new Promise((resolve) => sender.send(request, resolve));
}

const brief = (result: SendResult) =>
  result.ok
    ? [
        result.response.status,
        result.response.body.toString('latin1').slice(0, 20),
        result.response.oddities ?? [],
      ]
    : [result.error.code, result.error.message];

test.each<[name: string, treatment: Treatment, body: string, oddities: string[]]>([
  [
    'ten of a hundred bytes, then silence',
    writes([`${OK}content-length: 100\r\n\r\n0123456789`]),
    '0123456789',
    ['body_cut'],
  ],
  [
    'ten of a hundred bytes, then the end',
    writes([`${OK}content-length: 100\r\n\r\n0123456789`], 'end'),
    '0123456789',
    ['body_cut'],
  ],
  [
    'ten of a hundred bytes, then a reset',
    writes([`${OK}content-length: 100\r\n\r\n0123456789`], 'reset'),
    '0123456789',
    ['body_cut'],
  ],
  ['headers that do not end', writes([`${OK}a: b\r\n`]), '', ['body_cut']],
  ['a connection that ends in the headers', writes([`${OK}a: b\r\n`], 'end'), '', ['body_cut']],
  [
    '100 KB of headers',
    writes([
      OK,
      ...Array.from({ length: 100 }, (_, i) => `h${String(i)}: ${'v'.repeat(1_000)}\r\n`),
      '\r\n',
    ]),
    '',
    ['header_size'],
  ],
  ['one header of 100 KB', writes([`${OK}a: ${'v'.repeat(100_000)}\r\n\r\n`]), '', ['header_size']],
  ['headers without end', floods(OK, 'a: b\r\n'), '', ['header_size']],
  [
    'headers in countless pieces',
    writes([OK, ...Array.from('a: b\r\n'.repeat(100))]),
    '',
    ['header_size'],
  ],
  ['a reason without end', floods('HTTP/1.1 200 ', 'x'), '', ['header_size']],
  ['chunk extensions without end', floods(`${CHUNKED}2;`, 'x'), '', ['framing_size']],
  [
    'trailers without end',
    floods(`${CHUNKED}2\r\nok\r\n0\r\n`, 'a: b\r\n'),
    'ok',
    ['framing_size'],
  ],
  [
    'a length twice',
    writes([`${OK}content-length: 2\r\ncontent-length: 2\r\n\r\nok`]),
    'ok',
    ['content_length'],
  ],
  ['a negative length', writes([`${OK}content-length: -2\r\n\r\nok`]), 'ok', ['content_length']],
  [
    'length and chunks',
    writes([`${OK}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`]),
    'ok',
    ['content_length'],
  ],
  [
    'a 200 that is longer than its length',
    writes([`${OK}content-length: 2\r\n\r\nok, and more`]),
    'ok',
    ['extra_bytes'],
  ],
  [
    'bare line feeds',
    writes(['HTTP/1.1 200 OK\ncontent-length: 2\n\nok']),
    'ok',
    ['header_syntax'],
  ],
  [
    'a folded header',
    writes([`${OK}a: b\r\n c\r\ncontent-length: 2\r\n\r\nok`]),
    'ok',
    ['header_syntax'],
  ],
  [
    'a control character in a header',
    writes([`${OK}a: b\x01c\r\ncontent-length: 2\r\n\r\nok`]),
    'ok',
    ['header_syntax'],
  ],
  [
    'a space in a name',
    writes([`${OK}a b: c\r\ncontent-length: 2\r\n\r\nok`]),
    'ok',
    ['header_syntax'],
  ],
  ['broken chunks', writes([`${CHUNKED}2\r\nok\r\nZZ\r\n`]), 'ok', ['chunk_syntax']],
  [
    'a chunk that is longer than it says',
    writes([`${CHUNKED}2\r\nokay\r\n0\r\n\r\n`]),
    'ok',
    ['chunk_syntax'],
  ],
  ['a byte at a time', writes(Array.from(PLAIN)), '', ['header_size']],
  ['an unasked 100', writes([CONTINUE, PLAIN]), 'ok', ['interim']],
  ['an unasked 100 in the same packet', writes([CONTINUE + PLAIN]), 'ok', ['interim']],
])(
  'with %s, the 200 counts, its connection is closed, and the next result is its own',
  async (_, treatment, body, oddities) => {
    treatments = [treatment, writes(['HTTP/1.1 503 Busy\r\ncontent-length: 4\r\n\r\nbusy'])];
    expect(brief(await post())).toEqual([200, body, oddities]);
    expect(brief(await post())).toEqual([503, 'busy', []]);
    expect(receiver.connections).toBe(2);
  },
);

test.each<[name: string, treatment: Treatment, body: string]>([
  ['103 before the response', writes([`HTTP/1.1 103 Hints\r\nlink: <a>\r\n\r\n`, PLAIN]), 'ok'],
  ['eight interim responses', writes(['HTTP/1.1 102 P\r\n\r\n'.repeat(8) + PLAIN]), 'ok'],
  ['empty lines before it', writes(['\r\n\r\n', PLAIN]), 'ok'],
  [
    '20 KB of headers',
    writes([`${OK}${`a: ${'v'.repeat(1_000)}\r\n`.repeat(20)}content-length: 2\r\n\r\nok`]),
    'ok',
  ],
  ['a few bytes at a time', writes(PLAIN.match(/[^]{1,4}/g)!), 'ok'],
  ['chunks and a trailer', writes([`${CHUNKED}2;x=y\r\nok\r\n0\r\na: b\r\n\r\n`]), 'ok'],
])('%s is nothing odd, and its connection is kept', async (_, treatment, body) => {
  treatments = [treatment];
  expect(brief(await post())).toEqual([200, body, []]);
  expect(brief(await post())).toEqual([200, body, []]);
  expect(receiver.connections).toBe(1);
});

test('a 204 with a length and a body counts', async () => {
  treatments = [writes(['HTTP/1.1 204 No\r\ncontent-length: 2\r\n\r\nok']), writes([PLAIN])];
  expect(brief(await post())).toEqual([204, '', ['content_length']]);
  expect(brief(await post())).toEqual([200, 'ok', []]);
});

test.each([500, 404])('a %i whose body breaks off is that status', async (status) => {
  treatments = [writes([`HTTP/1.1 ${String(status)} X\r\ncontent-length: 9\r\n\r\nno`], 'end')];
  expect(brief(await post())).toEqual([status, 'no', ['body_cut']]);
});

test.each<[name: string, treatment: Treatment, message: string]>([
  [
    'interim responses without end',
    floods('', 'HTTP/1.1 102 P\r\n\r\n'),
    'more than 8 interim responses',
  ],
  [
    'an interim response whose headers do not end',
    floods('HTTP/1.1 102 P\r\n', 'a: b\r\n'),
    'an interim response of more than 64 lines',
  ],
  [
    'an interim response whose header does not end',
    floods('HTTP/1.1 102 P\r\na: ', 'b'),
    'too much, or in too many pieces, before its status',
  ],
  ['empty lines without end', floods('', '\r\n'), 'byte 65 of the response (0x0d)'],
  [
    'a switch of protocols',
    writes(['HTTP/1.1 101 X\r\nupgrade: a\r\nconnection: upgrade\r\n\r\n']),
    'another protocol (101)',
  ],
  ['another protocol', writes(['SSH-2.0-OpenSSH_9.6\r\n']), 'byte 1 of the response (0x53)'],
  ['HTTP/2', writes([Buffer.from('000012040000000000', 'hex')]), 'speaks HTTP/2 only'],
  ['TLS', writes([Buffer.from('15030100020246', 'hex')], 'end'), 'speaks TLS here'],
  ['a status of 000', writes(['HTTP/1.1 000 X\r\n\r\n']), '000 is no status'],
])(
  '%s before any status fails the request, and the reason says why',
  async (_, treatment, message) => {
    treatments = [treatment];
    expect(brief(await post())).toEqual(['connection', expect.stringContaining(message)]);
  },
);

test('a status inside an interim response or behind garbage counts for nothing', async () => {
  treatments = [writes([`HTTP/1.1 103 Hints\r\n${OK}a: b\r\n`]), writes([`garbage\r\n${PLAIN}`])];
  expect(brief(await post())).toEqual(['timeout', expect.any(String)]);
  expect(brief(await post())).toEqual(['connection', expect.stringContaining('byte 1')]);
});

test('an odd response does not stay for a request that fails on the next connection', async () => {
  treatments = [writes([PLAIN]), writes([], 'reset'), writes([], 'reset')];
  expect(brief(await post())).toEqual([200, 'ok', []]);
  expect(await post()).toMatchObject({ ok: false, error: { code: 'connection' }, resent: true });
});

test('bytes on an idle connection end it, and answer no later request', async () => {
  let kept: Socket | undefined;
  treatments = [
    (socket) => void (kept = socket).write(PLAIN),
    writes(['HTTP/1.1 201 Own\r\ncontent-length: 2\r\n\r\nmy']),
  ];
  expect(brief(await post())).toEqual([200, 'ok', []]);
  kept?.write('HTTP/1.1 500 Unasked\r\ncontent-length: 0\r\n\r\n');
  await eventually(() => expect([unasked, sender.connections.idle]).toEqual([1, 0]));
  expect(brief(await post())).toEqual([201, 'my', []]);
});

test('empty lines on an idle connection end it', async () => {
  let kept: Socket | undefined;
  treatments = [(socket) => void (kept = socket).write(PLAIN)];
  await post();
  kept?.write('\r\n');
  await eventually(() => expect([unasked, sender.connections.idle]).toEqual([1, 0]));
});

test('a second response in one packet answers no request sent from within the first', async () => {
  treatments = [
    writes([`${PLAIN}HTTP/1.1 500 Second\r\ncontent-length: 3\r\n\r\nnot`]),
    writes(['HTTP/1.1 201 Own\r\ncontent-length: 2\r\n\r\nmy']),
  ];
  const second = new Promise<SendResult>((resolve) => {
    void post().then(() => void post().then(resolve));
    sender.send(
      { origin: receiver.origin, path: '/', headers: [], body: Buffer.from('{}') },
      () => undefined,
    );
  });
  expect(brief(await second)).toEqual([201, 'my', []]);
});

test('a server that speaks before it is asked fails the request, without more tries', async () => {
  await receiver.close();
  receiver = await startRawReceiver(() => () => undefined, {
    onConnection: writes(['220 mail.example.com ESMTP\r\n']),
  });
  treatments = [];
  expect(brief(await post())).toEqual([
    'connection',
    expect.stringMatching(/byte 1 of|before it got the request/),
  ]);
  expect(receiver.connections).toBe(1);
});

test('a body without end is cut off at its part that is kept, as ever', async () => {
  treatments = [floods(CHUNKED, '1000\r\n' + 'x'.repeat(4_096) + '\r\n')];
  const result = await post();
  expect(result).toMatchObject({ ok: true, response: { status: 200, truncated: true } });
  expect(result.ok && result.response.body).toHaveLength(16 * 1024);
  expect(result.ok && result.response.oddities).toBeUndefined();
});
