import { warningOf } from '../../../tools/harness/services';

describe('a warning of a service', () => {
  test('a warning is named by service, event and reason', () =>
    expect(
      warningOf('{"level":"warn","service":"router","reason":"it ended","msg":"produce.failed"}'),
    ).toBe('router produce.failed (it ended)'));
  test('a warning without a reason is named by service and event', () =>
    expect(warningOf('{"level":"error","service":"router","msg":"x.y"}')).toBe('router x.y'));
  test.each(['{"level":"info","msg":"service.started"}', 'some text', ''])(
    'the line %j is not a warning',
    (line) => expect(warningOf(line)).toBeUndefined(),
  );
});
