import { AT_CONTROL, atControl, begin, playControl } from '../../support/cli';

/** `waypost lookup`, against a control API in this process that answers in pages. */

const FROM = '2026-01-01T10:00:00.000Z';
const row = (message: string) => ({
  message,
  acceptedAt: FROM,
  source: 'src_shop',
  type: 'track',
  event: 'Order Cancelled',
  destinations: [{ id: 'dst_hook', delivery: null, outcome: 'not_matched', reason: 'filtered' }],
});
const page = (messages: string[], next: string | null) => ({
  data: messages.map(row),
  next,
  searched: { from: FROM, to: FROM, complete: next === null },
});
const problem = (status: number, detail: string) =>
  Response.json({ detail, type: 'x' }, { status });

/** of the destination */
let filter: string;
/** the answers to one lookup after the other; the last one repeats */
let answers: (object | Response)[];
/** what each lookup asked for */
let asked: Record<string, string>[];

beforeEach(() => {
  asked = [];
  filter = 'event != "Order Cancelled"';
  playControl(({ path, query }) => {
    if (path === '/sources') return { data: [{ id: 'src_shop', name: 'Web shop' }], next: null };
    if (path !== '/lookup') {
      return { data: [{ id: 'dst_hook', name: 'My hook', filter }], next: null };
    }
    asked.push(Object.fromEntries(query));
    return answers[Math.min(asked.length, answers.length) - 1];
  });
});
afterEach(() => jest.restoreAllMocks());

const lookup = (...argv: string[]) => atControl('lookup', ...argv);

test('reads page after page until all that Kafka keeps was searched', async () => {
  answers = [page(['m-3'], 'cursor-1'), page([], 'cursor-2'), page(['m-2', 'm-1'], null)];
  const { code, out, err } = await lookup('--user', 'u-1');
  expect(code).toBe(0);
  expect(asked).toEqual([
    { user: 'u-1', limit: '50' },
    { user: 'u-1', limit: '49', after: 'cursor-1' },
    { user: 'u-1', limit: '49', after: 'cursor-2' },
  ]);
  expect(out.match(/m-\d/g)).toEqual(['m-3', 'm-2', 'm-1']);
  expect(err).toMatch(
    /^Searched back to .*\nSearched back to .*\nSearched all that Kafka keeps\.\n$/,
  );
});

test('stops at the limit, and asks for no more than 200 at once', async () => {
  const full = (nth: number, rows: number) =>
    page(
      Array.from({ length: rows }, (_, i) => `m-${nth}-${i}`),
      `cursor-${nth}`,
    );
  answers = [full(1, 200), full(2, 50)];
  const { code, json } = await lookup('--user', 'u-1', '--limit', '250', '--json');
  expect([code, json.length]).toEqual([0, 250]);
  expect(asked.map(({ limit }) => limit)).toEqual(['200', '50']);
});

test('a message id is sought no further than where it was found', async () => {
  answers = [page([], 'cursor-1'), page(['m-1'], 'cursor-2')];
  const { code, json } = await lookup('--message', 'm-1', '--json');
  expect([code, json]).toEqual([0, [row('m-1')]]);
  expect(asked.map(({ after }) => after)).toEqual([undefined, 'cursor-1']);
});

test('says how far it searched when nothing was found', async () => {
  answers = [page([], null)];
  expect((await lookup('--user', 'u-1')).err).toContain('Kafka has no event of the user u-1.');
  answers = [{ ...page([], 'cursor-1'), searched: { from: FROM, to: FROM, complete: false } }];
  const { err } = await begin(['lookup', '--user', 'u-1'], { env: AT_CONTROL }).interrupt();
  expect(err).toContain(`Since ${FROM} Kafka got no event of the user u-1.\n`);
});

test('says how an order number is found, if no event has it as messageId', async () => {
  answers = [page([], null)];
  const { code, err } = await lookup('--message', "A-107's");
  expect(code).toBe(0);
  expect(err).toContain("Kafka has no event with the messageId A-107's.\n");
  expect(err).toContain("waypost deliveries --search 'A-107'\\''s'\n");
});

test('names the event, and the filter that excludes it, as far as it fits', async () => {
  answers = [page(['m-1'], null)];
  const { out } = await lookup('--user', 'u-1');
  expect(out).toMatch(
    /m-1 +Web shop +track +Order Cancelled +My hook +not_matched +- +its filter: event != "Order Cancelled"\n/,
  );
  filter = `event != "${'x'.repeat(100)}"`;
  expect((await lookup('--user', 'u-1')).out).toMatch(/its filter: event != "x{69}…\n/);
});

test('a delivery has its id and the word of its status', async () => {
  const of = { id: 'dst_hook', outcome: 'waiting', reason: 'circuit_open' };
  const delivery = { id: 'dlv_1', status: 'held' };
  const found = { ...row('m-1'), destinations: [{ ...of, delivery }] };
  answers = [{ ...page([], null), data: [found] }];
  const { out } = await lookup('--message', 'm-1');
  expect(out).toMatch(/My hook +held +dlv_1 +its endpoint is failing\n/);
});

test('a page that fails is read again, and the search goes on', async () => {
  answers = [page(['m-2'], 'cursor-1'), problem(429, 'Others search'), page(['m-1'], null)];
  const { code, json, err } = await lookup('--user', 'u-1', '--json');
  expect([code, json.map(({ message }) => message)]).toEqual([0, ['m-2', 'm-1']]);
  expect(asked.map(({ after }) => after)).toEqual([undefined, 'cursor-1', 'cursor-1']);
  expect(err).toContain('Others search. Trying again');
});

test('a page that cannot be read does not lose what the pages before it had', async () => {
  answers = [page(['m-2'], 'cursor-1'), problem(422, 'The cursor is too old')];
  const { code, json, err } = await lookup('--user', 'u-1', '--json');
  expect([code, json.map(({ message }) => message)]).toEqual([1, ['m-2']]);
  expect(err).toContain('The cursor is too old');
  answers = [problem(403, 'The token may not')];
  asked = [];
  const refused = await lookup('--user', 'u-1');
  expect([refused.code, refused.out]).toEqual([1, '']);
});

test('Ctrl-C ends the search with what it found', async () => {
  answers = [page(['m-2'], 'cursor-1'), page([], 'cursor-2'), page(['m-1'], null)];
  const running = begin(['lookup', '--user', 'u-1', '--json'], { env: AT_CONTROL });
  const { code, json } = await running.interrupt();
  expect([code, json.map(({ message }) => message)]).toEqual([0, ['m-2']]);
});
