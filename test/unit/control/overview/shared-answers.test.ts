import { SharedAnswers } from '../../../../services/control/overview/shared-answers';

/** An answer that the test gives. */
function pending<T>() {
  let [resolve, reject]: [(answer: T) => void, (error: Error) => void] = [() => {}, () => {}];
  const answer = new Promise<T>((...ends) => ([resolve, reject] = ends));
  return { answer, resolve, reject };
}

test('an answer that takes longer than it is kept is waited for, and kept from its coming', async () => {
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
  nowMs = 11_999;
  expect([await ask(), asked]).toEqual([1, 1]);
});

test('after a change nobody gets an answer from before it, and a late failure ends no newer one', async () => {
  const shared = new SharedAnswers<string>(2_000, () => 0);
  const old = pending<string>();
  const before = shared.get('day', () => old.answer);
  shared.clear();
  expect(await shared.get('day', () => Promise.resolve('new'))).toBe('new');
  old.reject(new Error('away'));
  await expect(before).rejects.toThrow('away');
  expect(await shared.get('day', () => Promise.resolve('newer'))).toBe('new');
});

test('who asks the same within the time gets the same answer, and a failure is asked again', async () => {
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
