import { createProgress } from '../../../dev/progress';

test('the progress of a download never goes back', () => {
  const notes: string[] = [];
  let nowMs = 0;
  const progress = createProgress(
    { what: 'Runtime', bytes: 35e6, note: (note) => notes.push(note) },
    () => nowMs,
  );
  for (const [atMs, arrived] of [
    [1_000, 4e6],
    [3_000, 16e6],
    [5_000, 34e6],
    [6_000, 0],
  ] as const) {
    nowMs = atMs;
    progress(arrived);
  }
  expect(notes).toEqual(['Runtime: 16 of 35 MB', 'Runtime: 34 of 35 MB']);
});
