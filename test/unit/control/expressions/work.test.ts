import { ExpressionWork, RequestWork } from '../../../../services/control/expressions/work';

/** Budgets of the expressions of requests, by counts of work on a clock that only work moves. */

let nowMs: number;
let waitedMs: number;
let work: ExpressionWork;
beforeEach(() => {
  nowMs = waitedMs = 0;
  const wait = (ms: number) => {
    nowMs += ms;
    waitedMs += ms;
    return Promise.resolve();
  };
  const now = () => nowMs;
  work = new ExpressionWork({ cpu: now, now, wait });
});

const take = (ms: number) => () => {
  nowMs += ms;
};
const tooMuch = expect.objectContaining({ code: 'too_much_work', status: 422 });

test('a request has half a second for all that it compiles and tries', async () => {
  let pieces = 0;
  const endless = (budget: RequestWork) => {
    for (; pieces < 1_000; pieces++) budget.run(take(40));
  };
  await expect(work.inTurn('ro', endless)).rejects.toEqual(tooMuch);
  expect(pieces).toBe(13);
});

test('a piece within a piece counts once', () => {
  const budget = new RequestWork(() => nowMs, undefined, { ms: 100, bytes: 1 });
  budget.run(() => budget.run(take(60)));
  expect(budget.isSpent).toBe(false);
  budget.run(() => {
    take(39)();
    expect(budget.isSpent).toBe(false);
    take(1)();
    expect(budget.isSpent).toBe(true);
  });
  expect(() => budget.run(take(1))).toThrow(tooMuch);
});

test('a request holds a bounded number of bytes', () => {
  const budget = new RequestWork(() => nowMs, undefined, { ms: 100, bytes: 10 });
  budget.hold(6);
  expect(() => budget.hold(5)).toThrow(tooMuch);
});

test('requests of one token work one after another, and other tokens need not wait', async () => {
  const order: string[] = [];
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const first = work.inTurn('ro', async () => {
    await held;
    order.push('first');
  });
  const second = work.inTurn('ro', () => order.push('second'));
  await work.inTurn('other', () => order.push('other'));
  release();
  await Promise.all([first, second]);
  expect(order).toEqual(['other', 'first', 'second']);
});

test('of 40 requests of a token at once 16 wait, and the rest learn when to return', async () => {
  let working = 0;
  let most = 0;
  const one = async () => {
    most = Math.max(most, ++working);
    await Promise.resolve();
    working--;
  };
  const all = await Promise.allSettled(Array.from({ length: 40 }, () => work.inTurn('ro', one)));
  const refused = all.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  expect(refused).toHaveLength(24);
  for (const each of refused) {
    expect(each).toMatchObject({ status: 429, also: { headers: { 'Retry-After': '5' } } });
  }
  expect(most).toBe(1);
  await work.inTurn('ro', one);
});

test('a token that works without end gets a third of the time', async () => {
  for (let i = 0; i < 100; i++) await work.inTurn('ro', (budget) => budget.run(take(400)));
  expect(waitedMs / nowMs).toBeGreaterThan(0.6);
  await work.inTurn('other', () => {
    expect(nowMs).toBeLessThan(140_000);
  });
});

test('a failed request does not hold up the next one', async () => {
  const failing = work.inTurn('ro', () => Promise.reject(new Error('no')));
  const next = work.inTurn('ro', () => 'next');
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('next');
});

test('work yields to others after 20 ms, and not before', async () => {
  const budget = new RequestWork(() => nowMs);
  let others = false;
  setImmediate(() => (others = true));
  budget.run(take(19));
  await budget.pause();
  expect(others).toBe(false);
  budget.run(take(1));
  await budget.pause();
  expect(others).toBe(true);
});
