import { byUrgency, needsAttention } from '../../../shared/model/attention';

const row = { name: '', state: 'healthy', dead: 0, waiting: 0, retrying: 0, held: 0 };

test('whoever loses events comes first, then whoever waits, then whoever fails', () => {
  const rows = [
    { ...row, name: 'fine' },
    { ...row, name: 'fails', state: 'failing' },
    { ...row, name: 'waits', held: 5, retrying: 1 },
    { ...row, name: 'loses little', dead: 1 },
    { ...row, name: 'waits longer', waiting: 7 },
    { ...row, name: 'loses', dead: 3 },
    { ...row, name: 'fine too' },
  ];
  expect(byUrgency(rows).map(({ name }) => name)).toEqual([
    'loses',
    'loses little',
    'waits longer',
    'waits',
    'fails',
    'fine',
    'fine too',
  ]);
});

test.each([
  [{ dead: 1 }, true],
  [{ state: 'off', dead: 1 }, true],
  [{ state: 'failing' }, true],
  [{ state: 'degraded' }, true],
  [{ state: 'paused', waiting: 1 }, true],
  [{ state: 'paused' }, false],
  [{ state: 'healthy', waiting: 1 }, false],
  [{ state: 'off' }, false],
])('of %j somebody should look at it: %s', (over, expected) => {
  expect(needsAttention({ ...row, ...over })).toBe(expected);
});
