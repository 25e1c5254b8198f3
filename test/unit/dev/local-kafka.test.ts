import { type Broker } from '../../../dev/kafka/broker';
import { localKafka } from '../../../dev/kafka/local-kafka';
import { type RestartedProgram } from '../../../dev/restart';
import { loadSettings } from '../../../shared/runtime/settings';
import { AppError } from '../../../shared/runtime/errors';

/** The first start of the embedded broker, with a broker of this test. */

const FAILED = new AppError('cannot_start', 'The container did not start: no such image.');

/**
 * Starts Kafka. Resolves with the failure, and the events that were printed by the time everything
 * has stopped.
 */
async function firstStart(
  launch: () => Promise<Broker>,
): Promise<{ failure: unknown; events: string[] }> {
  const events: string[] = [];
  let kept: RestartedProgram | undefined;
  const failure: unknown = await localKafka({
    settings: loadSettings({}),
    output: {
      log: () => undefined,
      error: () => undefined,
      say: () => undefined,
      event: (name) => events.push(name),
    },
    started: (program) => (kept = program),
    fatal: () => undefined,
    stopping: new AbortController().signal,
    find: () => Promise.resolve(launch),
  }).catch((error: unknown) => error);
  await kept?.stop(0);
  return { failure, events };
}

test('a broker that fails at its first launch is reported once, without a restart', async () => {
  expect(await firstStart(() => Promise.reject(FAILED))).toEqual({ failure: FAILED, events: [] });
});

test('a broker that ends before it is usable is reported once, too', async () => {
  const ended = Promise.resolve({ text: 'exit code 1' });
  const broker: Partial<Broker> = {
    address: '127.0.0.1:1',
    ended,
    ready: () => ended.then(() => Promise.reject(FAILED)),
  };
  expect(await firstStart(() => Promise.resolve(broker as Broker))).toEqual({
    failure: FAILED,
    events: [],
  });
});
