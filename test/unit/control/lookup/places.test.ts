import { ExpressionWork } from '../../../../services/control/expressions/work';
import { type LookupDeps, lookupHandlers } from '../../../../services/control/lookup/routes';
import { eventually } from '../../../support/eventually';

/** Searches run two at a time, in turn of the tokens that ask. */

let ends: (() => void)[];
let waits: AbortController;
let handlers: ReturnType<typeof lookupHandlers>;
beforeEach(() => {
  [ends, waits] = [[], new AbortController()];
  jest.spyOn(AbortSignal, 'timeout').mockImplementation(() => waits.signal);
  const deps = {
    kafka: { ranges: () => Promise.resolve([]) },
    history: { learnDeletions: () => new Promise<void>((resolve) => ends.push(resolve)) },
    lookups: new ExpressionWork({ cpu: () => 0, now: () => 0, wait: () => Promise.resolve() }),
    now: () => new Date(),
  };
  handlers = lookupHandlers(deps as unknown as LookupDeps);
});
afterEach(() => jest.restoreAllMocks());

function search(token: string) {
  const running = ends.length;
  const call = { query: { user: 'kim', limit: 10 }, by: { id: token } };
  const result = Promise.resolve(handlers['GET /lookup'](call as never));
  void result.catch(() => undefined);
  return { result, begins: () => eventually(() => expect(ends.length).toBeGreaterThan(running)) };
}

test('a token that asks again and again waits behind the others', async () => {
  const [one, two] = [search('a'), search('b')];
  await two.begins();
  const order: string[] = [];
  const note = (token: string, { result }: { result: Promise<unknown> }) =>
    result.then(() => order.push(token));
  const [again, other] = [search('a'), search('c')];
  const all = [note('a', again), note('c', other)];
  expect(ends).toHaveLength(2);
  ends[0]!();
  await one.result;
  await eventually(() => expect(ends).toHaveLength(3));
  ends[2]!();
  await other.result;
  expect(order).toEqual(['c']);
  await eventually(() => expect(ends).toHaveLength(4));
  ends[1]!();
  ends[3]!();
  await Promise.all([...all, two.result]);
  expect(order).toEqual(['c', 'a']);
});

test('who waits too long is told to come again, and holds no place', async () => {
  const first = [search('a'), search('b')];
  await first[1]!.begins();
  const late = search('c');
  await new Promise((resolve) => setImmediate(resolve));
  waits.abort();
  await expect(late.result).rejects.toMatchObject({ code: 'rate_limited' });
  waits = new AbortController();
  for (const end of ends) end();
  await Promise.all(first.map(({ result }) => result));
  const next = [search('c'), search('d')];
  await next[1]!.begins();
  await eventually(() => expect(ends).toHaveLength(4));
  for (const end of ends) end();
  await Promise.all(next.map(({ result }) => result));
});
