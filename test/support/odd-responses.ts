import { type Random } from '../../tools/harness/random';

/**
 * Writes random responses, ordinary and odd ones, and knows which status it left readable: one that
 * follows nothing but empty lines and whole interim responses. Other status lines are only decoys.
 */

export interface FuzzedResponse {
  /** one packet after the other */
  parts: Buffer[];
  /** what the receiver does behind them */
  then: 'wait' | 'end' | 'reset';
  /** undefined: none can be read */
  status: number | undefined;
  /** the response is not odd, and ends by itself */
  isPlain: boolean;
  what: string;
}

const FINAL = [200, 201, 204, 301, 404, 410, 429, 500, 503];
const DECOY = 'HTTP/1.1 299 Decoy\r\n';

export function fuzzedResponse(random: Random): FuzzedResponse {
  const status = random.one(FINAL);
  const line = `HTTP/1.${random.one(['0', '1', '1', '1'])} ${String(status)}${random.one([' OK', ' ', '', ' Ünï'])}`;
  const early = random.one(EARLY);
  const head = random.one(HEADS);
  const body = early.isOpen ? PLAIN_BODY : random.one(BODIES);
  const text = `${early.text}${line}${head.lineEnd}${body.headers}${head.end}${body.text}`;
  const isPlain =
    early.isPlain && head.isPlain && body.isPlain && status !== 204 && line.startsWith('HTTP/1.1');
  // What follows a complete response in a packet of its own may meet the next request, which nobody
  // can know.
  const hasMore = body.hasMore === true || status === 204;
  const bytes = Buffer.from(text, 'latin1');
  return {
    parts: hasMore ? [bytes] : cut(bytes, random),
    then: isPlain ? 'wait' : bytes.length < 2_000 ? random.one(['end', 'end', 'reset']) : 'end',
    status: early.isHidden ? undefined : status,
    isPlain,
    what: `${line}, ${early.what}, ${head.what}, ${body.what}`,
  };
}

interface Early {
  what: string;
  text: string;
  isPlain: boolean;
  /** no status behind it counts */
  isHidden?: boolean;
  /**
   * the status line behind it is in a header, and what follows this head is the beginning of a
   * response
   */
  isOpen?: boolean;
}

const interim = (status: number, count = 1) =>
  `HTTP/1.1 ${String(status)} Wait\r\nlink: <a>\r\n\r\n`.repeat(count);

const EARLY: Early[] = [
  ...Array.from({ length: 6 }, () => ({ what: 'nothing before', text: '', isPlain: true })),
  { what: 'empty lines before', text: '\r\n\n\r\n', isPlain: true },
  { what: '103 before', text: interim(103), isPlain: true },
  { what: '8 interim before', text: interim(102, 8), isPlain: true },
  { what: '100 before', text: interim(100), isPlain: false },
  { what: '9 interim before', text: interim(102, 9), isPlain: false, isHidden: true },
  { what: '101 before', text: interim(101), isPlain: false, isHidden: true },
  { what: '000 before', text: 'HTTP/1.1 000 X\r\n\r\n', isPlain: false, isHidden: true },
  { what: 'a text before', text: `hello\r\n${DECOY}`, isPlain: false, isHidden: true },
  { what: 'a blank before', text: ' ', isPlain: false, isHidden: true },
  { what: 'NUL before', text: '\0', isPlain: false, isHidden: true },
  {
    what: 'an open interim head before',
    text: 'HTTP/1.1 103 Wait\r\na: ',
    isPlain: false,
    isHidden: true,
    isOpen: true,
  },
];

interface Head {
  what: string;
  /** from the end of the status line on */
  lineEnd: string;
  end: string;
  isPlain: boolean;
}

const head = (what: string, headers: string, isPlain = false): Head => ({
  what,
  lineEnd: `\r\n${headers}`,
  end: '\r\n',
  isPlain,
});

const HEADS: Head[] = [
  ...Array.from({ length: 6 }, () => head('plain head', 'server: x\r\n', true)),
  head('a decoy as a value', `a: ${DECOY}`, true),
  head('20 KB of headers', `a: ${'v'.repeat(1_000)}\r\n`.repeat(20), true),
  head('40 KB of headers', `a: ${'v'.repeat(1_000)}\r\n`.repeat(40)),
  head('a decoy as a header', DECOY),
  head('a folded header', `a: b\r\n ${DECOY}`),
  head('a control character', 'a: \x01\r\n'),
  head('NUL', 'a: \0\r\n'),
  head('a space in a name', 'a b: c\r\n'),
  head('no name', ': c\r\n'),
  head('no colon', 'hello\r\n'),
  { what: 'bare line feeds', lineEnd: '\na: b\n', end: '\n', isPlain: false },
  { what: 'no end of the head', lineEnd: '\r\na: b\r\n', end: 'b', isPlain: false },
];

interface Body {
  what: string;
  headers: string;
  text: string;
  isPlain: boolean;
  /** bytes follow its end */
  hasMore?: boolean;
}

const body = (what: string, headers: string, text: string, isPlain = false): Body => ({
  what,
  headers,
  text,
  isPlain,
});
const CHUNKED = 'transfer-encoding: chunked\r\n';

const PLAIN_BODY = body('a body', 'content-length: 5\r\n', 'hello', true);
const BODIES: Body[] = [
  ...Array.from({ length: 4 }, () => PLAIN_BODY),
  body('a decoy as body', `content-length: ${String(DECOY.length)}\r\n`, DECOY, true),
  body('chunks', CHUNKED, '5\r\nhello\r\n0\r\n\r\n', true),
  body('chunks and trailers', CHUNKED, `5;a=b\r\nhello\r\n0\r\na: b\r\n\r\n`, true),
  body('no length', '', 'hello'),
  body('a long body', 'content-length: 50000\r\n', 'x'.repeat(50_000)),
  body('a body that is too short', 'content-length: 50\r\n', DECOY),
  {
    ...body('a body that is too long', 'content-length: 5\r\n', `hello${DECOY}\r\n`),
    hasMore: true,
  },
  body('two lengths', 'content-length: 5\r\ncontent-length: 6\r\n', 'hello'),
  body('no number', 'content-length: x\r\n', 'hello'),
  body('a length and chunks', `content-length: 5\r\n${CHUNKED}`, '5\r\nhello\r\n0\r\n\r\n'),
  body('broken chunks', CHUNKED, `5\r\nhelloo\r\n${DECOY}`),
  body('chunk extensions', CHUNKED, `5;${'x'.repeat(100_000)}\r\nhello\r\n0\r\n\r\n`),
  body('trailers', CHUNKED, `5\r\nhello\r\n0\r\n${'a: b\r\n'.repeat(15_000)}\r\n`),
];

/** Cuts bytes into one to four packets, at places near their beginning or anywhere. */
function cut(bytes: Buffer, random: Random): Buffer[] {
  const places = Array.from({ length: random.between(0, 3) }, () =>
    random.between(0, random.next() < 0.5 ? Math.min(60, bytes.length) : bytes.length),
  ).sort((a, b) => a - b);
  return [0, ...places]
    .map((from, i) => bytes.subarray(from, places[i]))
    .filter(({ length }) => length > 0);
}
