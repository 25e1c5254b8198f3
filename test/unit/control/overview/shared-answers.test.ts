import { SharedAnswers } from '../../../../services/control/overview/shared-answers';

/** An answer that the test gives. */
function pending<T>() {
  let [resolve, reject]: [(answer: T) => void, (error: Error) => void] = [() => {}, () => {}];
  const answer = new Promise<T>((...ends) => ([resolve, reject] = ends));
  return { answer, resolve, reject };
}

test('an answer that takes longer than it is kept is awaited, and kept once it comes', async () => {
  let nowMs = 0;
  let asked = 0;
  const slow = pending<number>();
  const shared = new SharedAnswers<number>(2_000, () => nowMs);
  const ask = () => shared.get('day', () => (asked++, slow.answer));
  const first = ask();
  nowMs = 10_000;
  const second = ask();
  slow.resolve(1);
  expect([await first, await second, asked]).toEqual([1, 1, 1]);
  nowMs = 10_999;
  expect([await ask(), asked]).toEqual([1, 1]);
});

test('after a change nobody gets an older answer, and a late failure ends no new one', async () => {
  const shared = new SharedAnswers<string>(2_000, () => 0);
  const old = pending<string>();
  const before = shared.get('day', () => old.answer);
  shared.clear();
  expect(await shared.get('day', () => Promise.resolve('new'))).toBe('new');
  old.reject(new Error('away'));
  await expect(before).rejects.toThrow('away');
  expect(await shared.get('day', () => Promise.resolve('newer'))).toBe('new');
});

test('nobody waits for the next answer while the last one is young enough', async () => {
  let nowMs = 0;
  const shared = new SharedAnswers<number>(2_000, () => nowMs);
  const next = pending<number>();
  let asked = 0;
  const ask = () => shared.get('day', () => (asked++ === 0 ? Promise.resolve(1) : next.answer));
  await ask();
  nowMs = 1_000;
  expect([await ask(), await ask(), asked]).toEqual([1, 1, 2]);
  nowMs = 2_000;
  const waits = ask();
  next.resolve(2);
  expect([await waits, await ask(), asked]).toEqual([2, 2, 2]);
});

test('a next answer that fails leaves the last, and after a change it is not kept', async () => {
  let nowMs = 0;
  const shared = new SharedAnswers<string>(2_000, () => nowMs);
  const answer = (text: string) => shared.get('day', () => Promise.resolve(text));
  await answer('one');
  nowMs = 1_500;
  const fails = pending<string>();
  expect(await shared.get('day', () => fails.answer)).toBe('one');
  fails.reject(new Error('away'));
  await expect(fails.answer).rejects.toThrow('away');
  expect(await answer('two')).toBe('one');
  nowMs = 3_000;
  const late = pending<string>();
  expect(await shared.get('day', () => late.answer)).toBe('two');
  shared.clear();
  late.resolve('of before');
  await late.answer;
  expect(await answer('of after')).toBe('of after');
});

test('who asks the same in time gets the same answer, and a failure is asked again', async () => {
  let nowMs = 0;
  let asked = 0;
  const shared = new SharedAnswers<number>(2_000, () => nowMs);
  const ask = () => shared.get('day', () => Promise.resolve(++asked));
  expect([await ask(), await ask()]).toEqual([1, 1]);
  expect(await shared.get('week', () => Promise.resolve(7))).toBe(7);
  nowMs = 2_000;
  expect([await ask(), await ask()]).toEqual([2, 2]);
  nowMs = 4_000;
  await expect(shared.get('day', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
  expect(await ask()).toBe(3);
});
