import { SharedAnswers } from '../../../../services/control/overview/shared-answers';

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
