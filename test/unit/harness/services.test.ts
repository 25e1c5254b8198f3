import { warningOf } from '../../../tools/harness/services';

describe('a warning of a service', () => {
  it('is named by service, event and reason', () =>
    expect(warningOf('{"level":"warn","service":"router","reason":"it ended","msg":"produce.failed"}')).toBe(
      'router produce.failed (it ended)',
    ));
  it('may have no reason', () =>
    expect(warningOf('{"level":"error","service":"router","msg":"x.y"}')).toBe('router x.y'));
  it.each(['{"level":"info","msg":"service.started"}', 'some text', ''])('is not %j', (line) =>
    expect(warningOf(line)).toBeUndefined(),
  );
});
