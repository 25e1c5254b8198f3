import { createStepDedup } from '../../../shared/model/step-dedup';

const NOW = 1_700_000_000_000;

function record(over: { topic?: string; partition?: number; offset: number; headers?: Record<string, string> }) {
  return { topic: 'webhooks', partition: 0, headers: { delivery: 'd' }, ...over };
}

describe('a second record of the same step of a delivery', () => {
  test.each<[string, Parameters<typeof record>[0], Parameters<typeof record>[0], boolean]>([
    ['further down the same partition: dropped', { offset: 5 }, { offset: 9 }, true],
    ['read again after a crash or a rebalance: kept', { offset: 5 }, { offset: 5 }, false],
    ['further up: the one that will be read again is kept', { offset: 5 }, { offset: 4 }, false],
    ['of another partition: kept', { offset: 5 }, { offset: 9, partition: 1 }, false],
    ['of another topic, with the same number of partition: kept', { offset: 5 }, { offset: 9, topic: 'other' }, false],
    ['of another delivery', { offset: 5 }, { offset: 9, headers: { delivery: 'e' } }, false],
    ['the next attempt', { offset: 5 }, { offset: 9, headers: { delivery: 'd', attempt: '1', hop: '1' } }, false],
    ['the next hop', { offset: 5 }, { offset: 9, headers: { delivery: 'd', hop: '1' } }, false],
    ['a replay', { offset: 5 }, { offset: 9, headers: { delivery: 'd', replay: '1' } }, false],
    [
      'defaults left out or written are the same',
      { offset: 5 },
      { offset: 9, headers: { delivery: 'd', hop: '0' } },
      true,
    ],
    ['a test send', { offset: 5 }, { offset: 9, headers: { delivery: 'd', test: '1' } }, false],
    ['what names no delivery', { offset: 5, headers: {} }, { offset: 9, headers: {} }, false],
  ])('%s', (_, first, second, dropped) => {
    const forks = createStepDedup();
    expect(forks.isDuplicateStep(record(first), NOW)).toBe(false);
    expect(forks.isDuplicateStep(record(second), NOW + 1_000)).toBe(dropped);
  });

  test('the first stays the first, however often it is read', () => {
    const forks = createStepDedup();
    for (const offset of [5, 9, 5]) forks.isDuplicateStep(record({ offset }), NOW);
    expect([5, 9, 12].map((offset) => forks.isDuplicateStep(record({ offset }), NOW))).toEqual([false, true, true]);
  });

  test('so many are remembered, and no more', () => {
    const forks = createStepDedup(100);
    forks.isDuplicateStep(record({ offset: 0 }), NOW);
    for (let i = 1; i <= 100; i++)
      forks.isDuplicateStep(record({ offset: i, headers: { delivery: `d${String(i)}` } }), NOW);
    expect(forks.isDuplicateStep(record({ offset: 200 }), NOW)).toBe(false);
    expect(forks.isDuplicateStep(record({ offset: 201, headers: { delivery: 'd100' } }), NOW)).toBe(true);
  });
});
