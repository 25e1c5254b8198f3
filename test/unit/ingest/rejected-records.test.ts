import { contentOfCall, countByCode } from '../../../services/ingest/rejected-records';

const IN_BATCH = { type: undefined, isLarge: false };

describe('the content of a rejected call', () => {
  test('is the call as sent, without its keys', () => {
    const call = { type: 'page', writeKey: 'secret', _metadata: {}, properties: { a: 1 } };
    expect(contentOfCall(call, IN_BATCH)).toEqual({ call: { type: 'page', properties: { a: 1 } } });
  });

  // The debugger finds and names a call by its type, which only the path may say.
  test.each([{ userId: 'u' }, { type: 'page', userId: 'u' }])(
    'has the type of its path: %j',
    (call) => {
      const content = contentOfCall(call, { type: 'track', isLarge: false });
      expect(content).toEqual({ call: { type: 'track', userId: 'u' } });
    },
  );

  test.each([null, 3, 'text', [1]])('is %j as it is', (call) => {
    expect(contentOfCall(call, IN_BATCH)).toEqual({ call });
  });

  test('is the beginning of a large one', () => {
    const content = contentOfCall({ pad: 'x'.repeat(99_999) }, { ...IN_BATCH, isLarge: true });
    expect(content).toEqual({
      call: expect.stringMatching(/^\{"pad":"x+$/),
      truncated: true,
    });
    expect(content.call).toHaveLength(4_096);
  });

  test('of a large one has the type of its path', () => {
    const call = { pad: 'x'.repeat(99_999) };
    const content = contentOfCall(call, { type: 'track', isLarge: true });
    expect(content.call).toMatch(/^\{"type":"track","pad":"x+$/);
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
