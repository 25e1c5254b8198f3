import { limitsBody, limitsDraft, limitsProblems } from '../../../console/src/source/limits-draft';
import { type Source } from '../../../shared/api/operations';

const source = (limits: Source['limits']) => ({ limits, trust: 'browser' }) as Source;

test.each([
  ['no limits', null, { maxPerSecond: null, maxBytesPerSecond: null, burst: null }],
  [
    'all limits',
    { maxPerSecond: 0.5, maxBytesPerSecond: 9, burst: '10s' },
    { maxPerSecond: 0.5, maxBytesPerSecond: 9, burst: '10s' },
  ],
])('%s are written as they were read', (_, limits, written) => {
  const draft = limitsDraft(source(limits));
  expect(limitsProblems(draft).size).toBe(0);
  expect(limitsBody(draft)).toEqual({ limits: written, trust: 'browser' });
});

test('a text in place of a number is not sent', () => {
  const draft = { ...limitsDraft(source(null)), maxPerSecond: 'many' };
  expect([...limitsProblems(draft).keys()]).toEqual(['limits/maxPerSecond']);
});
