import { type Socket } from 'node:net';
import { Incoming, passThrough } from '../../../../services/delivery/http/incoming';

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`;

interface Passed {
  /** what undici was given */
  text: string;
  /** why the connection was ended; undefined: it was not */
  ended: string | undefined;
}

/**
 * Passes the reads of a socket on, as undici takes them.
 * @param headBytes length of the head
 * @param isBody what is behind the head is a body, without chunks
 */
function pass(reads: readonly string[], headBytes: number, isBody = false): Passed {
  const incoming = new Incoming();
  incoming.requestWritten();
  let text = '';
  for (const read of reads) {
    incoming.receive(Buffer.from(read));
    while (incoming.hasRest) {
      const part = incoming.nextPart();
      if (part === undefined) return { text, ended: incoming.fault?.why ?? 'reads' };
      const before = text.length;
      text += part.toString();
      if (text.length < headBytes) continue;
      if (before < headBytes) incoming.headRead();
      if (isBody) incoming.bodyRead(text.length - Math.max(before, headBytes));
    }
  }
  return { text, ended: undefined };
}

const lines = (count: number) => 'a: b\r\n'.repeat(count);

test.each([
  ['headers without end in one read', [OK + lines(10_000)], Infinity, 'header_size', 0],
  [
    'headers without end in small reads',
    [OK, ...Array<string>(50).fill(lines(100))],
    Infinity,
    'header_size',
    2_000,
  ],
  [
    'trailers without end',
    [`${CHUNKED}2\r\nok\r\n0\r\n${lines(10_000)}`],
    CHUNKED.length,
    'framing_size',
    4_000,
  ],
  [
    'an endless chunk extension',
    [`${CHUNKED}2${';a=b'.repeat(20_000)}`],
    CHUNKED.length,
    'framing_size',
    4_000,
  ],
  [
    'a body that trickles',
    [CHUNKED, ...Array<string>(1_000).fill('1\r\nx\r\n')],
    CHUNKED.length,
    'reads',
    CHUNKED.length + 33 * 6,
  ],
  [
    'a head that trickles',
    [OK, ...Array<string>(1_000).fill('a: b\r\n')],
    Infinity,
    'header_size',
    OK.length + 32 * 6,
  ],
])('%s costs a bounded part of it', (_, reads, headBytes, ended, most) => {
  const passed = pass(reads, headBytes);
  expect(passed.ended).toBe(ended);
  expect(passed.text.length).toBeLessThanOrEqual(most);
});

test.each([
  [
    'a head and a large body in one read',
    [`${OK}content-length: 60000\r\n\r\n${'x\n'.repeat(30_000)}`],
    OK.length + 25,
  ],
  ['a head of 120 lines', [`${OK}${lines(120)}\r\n`], OK.length + 722],
  [
    'a head of 20 KB',
    [`${OK}${`set-cookie: ${'x'.repeat(1_000)}\r\n`.repeat(20)}\r\n`],
    OK.length + 20_282,
  ],
  [
    'a body in small packets',
    [`${OK}content-length: 16000\r\n\r\n`, ...Array<string>(32).fill('x'.repeat(500))],
    OK.length + 25,
  ],
  [
    'a body in thirty flushes',
    [`${OK}content-length: 30\r\n\r\n`, ...Array<string>(30).fill('x')],
    OK.length + 22,
  ],
])('%s passes unchanged', (_, reads, headBytes) => {
  expect(pass(reads, headBytes, true)).toEqual({ text: reads.join(''), ended: undefined });
});

test('the body is no part of a head that came in two reads', () => {
  const head = `${OK}content-length: 60000\r\n`;
  const rest = `\r\n${'x\n'.repeat(30_000)}`;
  expect(pass([head, rest], head.length + 2, true)).toEqual({
    text: head + rest,
    ended: undefined,
  });
});

test('what was read behind the end of a response is known to follow it', () => {
  const incoming = new Incoming();
  incoming.requestWritten();
  const response = `${OK}content-length: 4096\r\n\r\n${'x'.repeat(4_096)}`;
  incoming.receive(Buffer.from(`${response}${OK}`));
  incoming.nextPart();
  incoming.headRead();
  expect(incoming.hasMore(undefined, true)).toBe(true);
});

/** A socket that has read these texts. */
function socketWith(...texts: string[]): Pick<Socket, 'read' | 'destroy' | 'destroyed'> {
  return {
    destroyed: false,
    read: () => {
      const text = texts.shift();
      return text === undefined ? null : Buffer.from(text);
    },
    destroy() {
      Object.assign(this, { destroyed: true });
      return this as Socket;
    },
  };
}

test('what is left of a socket that was ended reaches no request on another one', () => {
  const incoming = new Incoming();
  let unasked = 0;
  const first = socketWith('x'.repeat(10_000)) as Socket;
  passThrough(first, incoming, () => unasked++);
  expect([first.read(), first.destroyed, unasked]).toEqual([null, true, 1]);

  const second = socketWith(`${OK}content-length: 0\r\n\r\n`) as Socket;
  passThrough(second, incoming, () => unasked++);
  incoming.requestWritten();
  expect(String(second.read())).toBe(`${OK}content-length: 0\r\n\r\n`);
  expect(unasked).toBe(1);
});
