import { Progress } from '../../../tools/bench/progress';
import { runParts } from '../../../tools/bench/run-parts';

test('a part that fails is reported, and the others are measured', async () => {
  const told: string[] = [];
  const row = { title: 'delivery alone', unit: 's', value: 7, goal: undefined };
  const round = await runParts(
    ['bare', 'delivery'],
    new Progress((text) => told.push(text)),
    (part) =>
      part === 'bare'
        ? Promise.reject(new Error('no receiver'))
        : Promise.resolve({ figures: { count: 1 }, rows: [row] }),
  );
  expect(round).toEqual({
    rows: [row],
    figures: { delivery: { count: 1 } },
    failures: [{ part: 'bare', why: 'no receiver' }],
  });
  expect(told).toEqual(['bare', 'bare could not be measured: no receiver', 'delivery']);
});
