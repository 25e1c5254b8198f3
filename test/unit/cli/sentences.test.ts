import { sentenceOf } from '../../../cli/connect/api';
import { parseFile } from '../../../cli/export-file/format';
import { ApiProblem } from '../../../shared/api/client';

/** Sentences for people: one full stop, and faults of a file in plain words. */

test.each([
  ['The call has no `anonymousId`.', 'The call has no `anonymousId`.'],
  ['The name is taken', 'The name is taken.'],
  ['Is it running?', 'Is it running?'],
])('the problem "%s" of the API is told as "%s"', (detail, told) => {
  expect(
    sentenceOf(
      new ApiProblem(422, { type: 'urn:waypost:problem:invalid_fields', detail }),
      'http://a',
    ),
  ).toBe(told);
});

test.each([
  ['UND_ERR_SOCKET', /^http:\/\/a closed the connection before it answered\./],
  ['ECONNREFUSED', /^No response at http:\/\/a \(ECONNREFUSED\)\. Is it running\?/],
])('a request that failed with %s is told as what happened', (code, told) => {
  const cause = Object.assign(new Error('x'), { code });
  expect(sentenceOf(new TypeError('fetch failed', { cause }), 'http://a')).toMatch(told);
});

test('faults of a wrong file name place and expectation, without the words of a library', () => {
  const faults = (text: string) => {
    try {
      parseFile(text);
    } catch (error) {
      return (error as Error).message;
    }
    return '';
  };
  expect(faults('no json')).toBe('The file is not JSON.');
  const told = faults('{"it": 1, "sources": {}}');
  expect(told).toMatch(/^The file is not a valid file of `waypost export`:/);
  expect(told).toContain('destinations is missing; it must be a list');
  expect(told).toContain('sources must be a list');
  expect(told).not.toMatch(/Invalid input|Unrecognized key|received undefined/);
});
