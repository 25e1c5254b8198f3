import { stopSignal } from '../../../dev/signals';

const NAMES = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const before = new Map(NAMES.map((name) => [name, process.listeners(name)]));
afterEach(() => {
  jest.restoreAllMocks();
  for (const name of NAMES) {
    for (const listener of process.listeners(name)) {
      if (!before.get(name)?.includes(listener)) process.off(name, listener);
    }
  }
});

test('a later signal stops at once, also if the clock was set back during the stop', () => {
  const force = jest.fn();
  const steady = jest.spyOn(performance, 'now').mockReturnValue(10_000);
  const clock = jest.spyOn(Date, 'now').mockReturnValue(7_200_000);
  const stop = stopSignal(force);
  process.emit('SIGINT');
  // The terminal and npm forward the same Ctrl-C.
  steady.mockReturnValue(10_100);
  process.emit('SIGTERM');
  expect([stop.aborted, force.mock.calls.length]).toEqual([true, 0]);
  clock.mockReturnValue(3_600_000);
  steady.mockReturnValue(13_000);
  process.emit('SIGINT');
  expect(force).toHaveBeenCalledTimes(1);
});
