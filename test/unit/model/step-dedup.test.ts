import { createStepDedup } from '../../../shared/model/dedup-window';

const NOW = 1_700_000_000_000;

function record(over: {
  topic?: string;
  partition?: number;
  offset: number;
  headers?: Record<string, string>;
}) {
  return { topic: 'webhooks', partition: 0, headers: { delivery: 'd' }, ...over };
}

describe('a second record', () => {
  test.each<[string, Parameters<typeof record>[0], Parameters<typeof record>[0], boolean]>([
    ['of the same step further down the partition is dropped', { offset: 5 }, { offset: 9 }, true],
    ['that is the first one read again is kept', { offset: 5 }, { offset: 5 }, false],
    ['of the same step further up the partition is kept', { offset: 5 }, { offset: 4 }, false],
    ['of another partition is kept', { offset: 5 }, { offset: 9, partition: 1 }, false],
    [
      'of another topic, with the same partition number, is kept',
      { offset: 5 },
      { offset: 9, topic: 'other' },
      false,
    ],
    [
      'of another delivery is kept',
      { offset: 5 },
      { offset: 9, headers: { delivery: 'e' } },
      false,
    ],
    [
      'of the next attempt is kept',
      { offset: 5 },
      { offset: 9, headers: { delivery: 'd', attempt: '1', hop: '1' } },
      false,
    ],
    [
      'of the next hop is kept',
      { offset: 5 },
      { offset: 9, headers: { delivery: 'd', hop: '1' } },
      false,
    ],
    [
      'of a replay is kept',
      { offset: 5 },
      { offset: 9, headers: { delivery: 'd', replay: '1' } },
      false,
    ],
    [
      'of the same step with defaults written out is dropped',
      { offset: 5 },
      { offset: 9, headers: { delivery: 'd', hop: '0' } },
      true,
    ],
    [
      'of a test is kept',
      { offset: 5 },
      { offset: 9, headers: { delivery: 'd', test: '1' } },
      false,
    ],
    [
      'without a delivery id is kept',
      { offset: 5, headers: {} },
      { offset: 9, headers: {} },
      false,
    ],
  ])('%s', (_, first, second, dropped) => {
    const forks = createStepDedup();
    expect(forks.isDuplicateStep(record(first), NOW)).toBe(false);
    expect(forks.isDuplicateStep(record(second), NOW + 1_000)).toBe(dropped);
  });

  test('the first record stays the first, however often it is read', () => {
    const forks = createStepDedup();
    for (const offset of [5, 9, 5]) forks.isDuplicateStep(record({ offset }), NOW);
    expect([5, 9, 12].map((offset) => forks.isDuplicateStep(record({ offset }), NOW))).toEqual([
      false,
      true,
      true,
    ]);
  });

  test('a step that was cut off is taken again', () => {
    const forks = createStepDedup();
    const other = { headers: { delivery: 'd2' } };
    forks.isDuplicateStep(record({ offset: 5 }), NOW);
    forks.isDuplicateStep(record({ ...other, offset: 5, topic: 'webhooks.due' }), NOW);
    forks.forget({ topic: 'webhooks', partition: 0, from: 5 });
    expect(forks.isDuplicateStep(record({ offset: 9 }), NOW)).toBe(false);
    const elsewhere = record({ ...other, offset: 9, topic: 'webhooks.due' });
    expect(forks.isDuplicateStep(elsewhere, NOW)).toBe(true);
  });

  test('the limit of remembered steps forgets the oldest', () => {
    const forks = createStepDedup(100);
    forks.isDuplicateStep(record({ offset: 0 }), NOW);
    for (let i = 1; i <= 100; i++) {
      forks.isDuplicateStep(record({ offset: i, headers: { delivery: `d${String(i)}` } }), NOW);
    }
    expect(forks.isDuplicateStep(record({ offset: 200 }), NOW)).toBe(false);
    expect(forks.isDuplicateStep(record({ offset: 201, headers: { delivery: 'd100' } }), NOW)).toBe(
      true,
    );
  });
});
