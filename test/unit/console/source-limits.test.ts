import {
  limitsBody,
  limitsDraft,
  limitsProblems,
  sameLimits,
} from '../../../console/src/source/limits-draft';
import { type Source } from '../../../shared/api/operations';

const source = (limits: Source['limits']) => ({ limits, trust: 'browser' }) as Source;

test.each([
  ['no limits', null],
  ['all limits', { maxPerSecond: 0.5, maxBytesPerSecond: 9, burst: '10s' }],
])('a draft of %s that is not edited changes nothing', (_, limits) => {
  const draft = limitsDraft(source(limits));
  expect(limitsProblems(draft).size).toBe(0);
  expect(limitsBody(draft, source(limits))).toEqual({});
});

test.each([
  [{ maxPerSecond: '7' }, { limits: { maxPerSecond: 7 } }],
  [{ maxPerSecond: '' }, { limits: { maxPerSecond: null } }],
  [{ maxBytesPerSecond: '8', burst: '' }, { limits: { maxBytesPerSecond: 8, burst: null } }],
  [{ trust: 'server' as const }, { trust: 'server' }],
])('only the edited fields are sent: %j', (edited, body) => {
  const begun = source({ maxPerSecond: 0.5, maxBytesPerSecond: 9, burst: '10s' });
  expect(limitsBody({ ...limitsDraft(begun), ...edited }, begun)).toEqual(body);
});

test("others' changes of limits or trust conflict with a draft, those of the name do not", () => {
  const begun = source({ maxPerSecond: 5, maxBytesPerSecond: null, burst: null });
  expect(sameLimits({ ...begun, name: 'Other' }, begun)).toBe(true);
  expect(sameLimits({ ...begun, trust: 'server' }, begun)).toBe(false);
  expect(sameLimits({ ...begun, limits: null }, begun)).toBe(false);
});

test('a text in place of a number is not sent', () => {
  const draft = { ...limitsDraft(source(null)), maxPerSecond: 'many' };
  expect([...limitsProblems(draft).keys()]).toEqual(['limits/maxPerSecond']);
});
