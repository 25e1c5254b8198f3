import { sleep } from '../../../shared/runtime/async';
import { createContext } from '../../../shared/runtime/run';
import { loadSettings } from '../../../shared/runtime/settings';
import { createLog } from '../../../shared/telemetry/log';

const context = () =>
  createContext({
    name: 'router',
    settings: loadSettings({}),
    limits: {
      memoryBytes: 1e9,
      openFiles: Infinity,
      cores: Infinity,
    },
    healths: new Map(),
    log: createLog('test', 'silent'),
    onFatal: (error) => {
      throw error;
    },
  });

test('a service stops its parts one by one, the last first, in the time that is left', async () => {
  jest.useFakeTimers();
  try {
    const service = context();
    const steps: string[] = [];
    for (const [part, tookMs] of Object.entries({ producer: 0, lanes: 600, consumer: 300 })) {
      service.onStop(async (leftMs) => {
        steps.push(`${part} stops within ${String(leftMs)} ms`);
        await sleep(tookMs);
        steps.push(`${part} has stopped`);
      });
    }
    const stopped = service.stop(800);
    await jest.advanceTimersByTimeAsync(1_000);
    await stopped;
    expect(steps).toEqual([
      'consumer stops within 800 ms',
      'consumer has stopped',
      'lanes stops within 500 ms',
      'lanes has stopped',
      'producer stops within 0 ms',
      'producer has stopped',
    ]);
  } finally {
    jest.useRealTimers();
  }
});

test('a part that cannot stop fails the stop, and parts opened before it stay open', async () => {
  const service = context();
  const producer = jest.fn();
  service.onStop(producer);
  service.onStop(() => Promise.reject(new Error('not drained')));
  await expect(service.stop(800)).rejects.toThrow('not drained');
  expect(producer).not.toHaveBeenCalled();
});

test('a service that opens config before it connects is refused', async () => {
  await expect(context().openConfig()).rejects.toThrow('connect comes before openConfig');
});
