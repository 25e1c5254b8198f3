import { ATTEMPT_COLUMNS, requestsInWords, triesOf } from '../../../cli/output/deliveries';
import { eventLine } from '../../../cli/output/events';
import { wantsColour } from '../../../cli/output/paint';
import { createPrinter } from '../../../cli/output/print';
import { showTest } from '../../../cli/output/test';
import { type Column, fields, table } from '../../../cli/output/table';
import { type ProcessContext } from '../../../cli/process-context';
import { type Test } from '../../../shared/api/operations';
import { defined } from '../../../shared/collections/defined';
import { printable } from '../../../shared/runtime/printable';
import { waypost } from '../../support/cli';

/** The output for people and for programs. */

const red = (text: string) => `<${text}>`;
const COLUMNS: Column<{ name: string; n: number | null }>[] = [
  { title: 'NAME', of: ({ name }) => name, paint: () => red },
  { title: 'N', of: ({ n }) => n, right: true },
];

test('columns of a table are as wide as their widest cell, with colour or without', () => {
  const rows = [
    { name: 'a', n: 1 },
    { name: 'äöü🙂', n: null },
    { name: 'longer', n: 1000 },
  ];
  expect(table(COLUMNS, rows, false)).toBe(
    'NAME       N\na          1\näöü🙂       -\nlonger  1000\n',
  );
  expect(table(COLUMNS, rows, true)).toBe(
    'NAME       N\n<a>          1\n<äöü🙂>       -\n<longer>  1000\n',
  );
});

test.each([
  ['\u001b[2Jgone', '\ufffd[2Jgone'],
  ['two\nlines', 'two\ufffdlines'],
  ['\u202eover', '\ufffdover'],
  ['fine, ümlaut and 日本', 'fine, ümlaut and 日本'],
])('control characters in the text %j do not reach the terminal', (text, shown) => {
  expect(printable(text)).toBe(shown);
  expect(table(COLUMNS, [{ name: text, n: 0 }], false)).toContain(shown);
  expect(fields([['name', text]])).toBe(`name  ${shown}\n`);
});

test.each([
  [{}, true, true],
  [{}, false, false],
  [{ NO_COLOR: '1' }, true, false],
  [{ NO_COLOR: '' }, true, true],
  [{ TERM: 'dumb' }, true, false],
])(
  'with the environment %j and a terminal (%s) the output has colour: %s',
  (env, terminal, wanted) => {
    expect(wantsColour(env, terminal)).toBe(wanted);
  },
);

test('with --json a list is one JSON text a line, and notes go to stderr', () => {
  const said = { out: '', err: '' };
  const world = {
    env: {},
    terminal: true,
    out: (t: string) => (said.out += t),
    err: (t: string) => (said.err += t),
  };
  const print = createPrinter(world as unknown as ProcessContext, true);
  print.rows(COLUMNS, [{ name: 'a\nb', n: 1 }], 'nothing');
  print.rows(COLUMNS, [], 'nothing');
  print.note('by the way');
  expect(said).toEqual({ out: '{"name":"a\\nb","n":1}\n', err: 'by the way\n' });
});

test.each([
  ['deliveries show', /missing required argument 'delivery'/],
  ['deliveries --nothing', /unknown option '--nothing'/],
  ['nothing', /unknown command 'nothing'/],
  ['events --limit x', /--limit must be a whole number/],
])('with --json the wrong usage `%s` is one JSON object on stderr', async (line, message) => {
  const { code, out, err } = await waypost([...line.split(' '), '--json']);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(JSON.parse(err)).toEqual({
    error: { message: expect.stringMatching(message), exitCode: 2 },
  });
});

const HOSTILE = 'a\u001b]52;c;cm0gLXJm\u0007\u009b2J\u202eb';
// eslint-disable-next-line no-control-regex -- what a terminal obeys
const OBEYED = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/;

test('no text of a stranger reaches the terminal raw, also as JSON, which stays the same', () => {
  const said = { out: '', err: '' };
  const world = {
    env: {},
    terminal: true,
    out: (t: string) => (said.out += t),
    err: (t: string) => (said.err += t),
  } as unknown as ProcessContext;
  const print = createPrinter(world, false);
  print.note(`${HOSTILE}\nsecond line`);
  print.rows(COLUMNS, [], HOSTILE);
  createPrinter(world, true).thing({ name: HOSTILE }, []);
  expect(said.out + said.err).not.toMatch(OBEYED);
  expect(said.err).toContain('b\nsecond line\n');
  expect(JSON.parse(said.out)).toEqual({ name: HOSTILE });
});

test('a file of a stranger cannot control the terminal by what is wrong with it', async () => {
  const file = { waypost: 1, sources: [], destinations: [], [HOSTILE]: true };
  const input = JSON.stringify(file);
  const { code, err } = await waypost(['import', '-'], { input });
  expect(code).toBe(1);
  expect(err).toMatch(/has an unknown field: a\ufffd]52/);
  expect(err).not.toMatch(OBEYED);
  const json = await waypost(['import', '-', '--json'], { input });
  expect(json.err).not.toMatch(OBEYED);
  expect(JSON.parse(json.err)).toMatchObject({
    error: { message: expect.stringContaining(HOSTILE) },
  });
});

test.each([
  [undefined, 'unreadable: No JSON.'],
  [1, 'unreadable: No JSON. (1 call)'],
  [2_000, 'unreadable: No JSON. (2000 calls)'],
])('a line of rejected calls says for how many it stands: %s', (count, why) => {
  const event = {
    id: 'e',
    at: '2026-01-01T00:00:00.000Z',
    source: 'src_1',
    accepted: false,
    call: null,
    warnings: [],
    code: 'unreadable',
    message: 'No JSON.',
    ...defined({ count }),
  };
  expect(eventLine(event, false)).toBe(`2026-01-01T00:00:00.000Z  rejected  ${why}`);
});

test.each([
  ['dead', 'retry', 'failed'],
  ['dead', 'rejected', 'failed'],
  ['delivered', 'delivered', 'delivered'],
] as const)(
  'a test that ended %s with the outcome %s has one word: %s',
  (status, outcome, word) => {
    let out = '';
    const world = {
      env: {},
      terminal: false,
      out: (text: string) => (out += text),
    } as unknown as ProcessContext;
    const url = {
      url: 'whk_1',
      origin: 'https://a.example',
      destinationVersion: 1,
      outcome,
      status: 500,
      durationMs: 5,
    };
    const attempt = { n: 1, at: '', durationMs: 5, outcome, urls: [url] };
    const result: Test = { delivery: 'dlv_1', status, reason: null, attempt };
    showTest(createPrinter(world, false), result);
    expect(out).toMatch(new RegExp(`status +${word}\\n`));
    expect(out).toMatch(new RegExp(`url +https://a.example {2}${word} {2}500\\n`));
  },
);

test('the attempts of a delivery name the URLs that were not called', () => {
  const url = {
    url: 'whk_1',
    origin: 'https://a.example',
    destinationVersion: 1,
    durationMs: 9.6,
    outcome: 'delivered' as const,
    status: 200,
  };
  const attempt = {
    n: 1,
    replay: 0,
    at: 'today',
    durationMs: 10,
    outcome: 'delivered' as const,
    notCalled: ['whk_2'],
  };
  const attempts = [{ ...attempt, urls: [{ ...url, address: url.origin, request: null }] }];
  const rows = (urls: [string, string][]) =>
    table(ATTEMPT_COLUMNS, triesOf(attempts, new Map(urls)), false).split('\n');
  const [, first, second] = rows([['whk_2', 'https://b.example/in']]);
  expect(first).toMatch(/https:\/\/a\.example +delivered +200 +10/);
  expect(second).toMatch(/ https:\/\/b\.example\/in +not called/);
  expect(rows([])[2]).toMatch(/whk_2 +not called/);
});

test('a URL that failed beside one that accepted the delivery is failed, and not retried', () => {
  const attempt = (outcome: 'delivered' | 'retry') => ({
    n: 1,
    replay: 0,
    at: 'today',
    durationMs: 1,
    outcome,
    urls: [
      {
        url: 'whk_1',
        origin: 'https://a.example',
        durationMs: 1,
        outcome: 'retry' as const,
        status: 500,
        destinationVersion: 1,
        address: null,
        request: null,
      },
    ],
  });
  const shown = (outcome: 'delivered' | 'retry') =>
    table(ATTEMPT_COLUMNS, triesOf([attempt(outcome)], new Map()), false);
  expect(shown('delivered')).toMatch(/failed +500/);
  expect(shown('retry')).toMatch(/retry +500/);
});

test('the attempts of a delivery show the URL called, and each different request once', () => {
  const signature = (at: string) => ({ 'webhook-timestamp': at, 'webhook-signature': `v1,${at}` });
  const tryTo = (n: number, url: string, headers: Record<string, string>) => ({
    n,
    replay: 0,
    at: 'today',
    durationMs: 1,
    outcome: 'retry' as const,
    urls: [
      {
        url: 'whk_1',
        origin: 'https://a.example',
        durationMs: 1,
        outcome: 'retry' as const,
        address: url,
        destinationVersion: 1,
        request: { url, method: 'POST', headers },
        response: { headers: {}, body: '', truncated: false, signature: signature(String(n)) },
      },
    ],
  });
  const tries = triesOf(
    [
      tryTo(1, 'https://a.example/old', { 'x-key': '***', 'webhook-signature': '***' }),
      tryTo(2, 'https://a.example/old', { 'x-key': '***', 'webhook-signature': '***' }),
      tryTo(3, 'https://a.example/new', {
        'x-key': '***',
        'webhook-signature': '***',
        'content-encoding': 'gzip',
      }),
    ],
    new Map(),
  );
  expect(table(ATTEMPT_COLUMNS, tries, false)).toMatch(/old[^]*old[^]*new/);
  expect(requestsInWords(tries)).toEqual([
    'request of try 1: POST https://a.example/old\n  x-key: ***\n' +
      '  webhook-signature: v1,1\n  webhook-timestamp: 1',
    'request of try 2: POST https://a.example/old\n' +
      '  webhook-timestamp: 2\n  webhook-signature: v1,2',
    'request of try 3: POST https://a.example/new\n  x-key: ***\n' +
      '  webhook-signature: v1,3\n  content-encoding: gzip\n  webhook-timestamp: 3',
  ]);
});
