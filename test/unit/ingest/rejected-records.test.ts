import { contentOfCall, countByCode } from '../../../services/ingest/rejected-records';

describe('the content of a rejected call', () => {
  test('is the call as sent, without its keys', () => {
    const call = { type: 'page', writeKey: 'secret', _metadata: {}, properties: { a: 1 } };
    expect(contentOfCall(call, false)).toEqual({ call: { type: 'page', properties: { a: 1 } } });
  });

  test.each([null, 3, 'text', [1]])('is %j as it is', (call) => {
    expect(contentOfCall(call, false)).toEqual({ call });
  });

  test('is the beginning of a large one', () => {
    const content = contentOfCall({ pad: 'x'.repeat(99_999) }, true);
    expect(content).toEqual({
      call: expect.stringMatching(/^\{"pad":"x+$/),
      truncated: true,
    });
    expect(content.call).toHaveLength(4_096);
  });
});

test('lost calls are counted by code, with the message of the first', () => {
  expect(countByCode([])).toEqual([]);
  expect(
    countByCode([
      { code: 'unreadable', message: 'The first.' },
      { code: 'too_many_calls', message: 'Too many.', count: 300 },
      { code: 'unreadable', message: 'The second.' },
    ]),
  ).toEqual([
    { code: 'unreadable', message: 'The first.', count: 2 },
    { code: 'too_many_calls', message: 'Too many.', count: 300 },
  ]);
});
