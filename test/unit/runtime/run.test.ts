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

test('a service stops its parts one by one, and the part opened last stops first', async () => {
  const service = context();
  const steps: string[] = [];
  for (const part of ['producer', 'lanes', 'consumer']) {
    service.onStop(async (deadlineMs) => {
      steps.push(`${part} stops within ${String(deadlineMs)} ms`);
      await Promise.resolve();
      steps.push(`${part} has stopped`);
    });
  }
  await service.stop(800);
  expect(steps).toEqual([
    'consumer stops within 800 ms',
    'consumer has stopped',
    'lanes stops within 800 ms',
    'lanes has stopped',
    'producer stops within 800 ms',
    'producer has stopped',
  ]);
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
