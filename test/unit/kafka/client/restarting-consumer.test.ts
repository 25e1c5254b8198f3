import { type Consumer, Kafka } from 'kafkajs';
import { RestartingConsumer } from '../../../../shared/kafka/client/restarting-consumer';
import { createLog } from '../../../../shared/telemetry/log';

/** A promise that the test settles. */
function aStep() {
  let [resolve, reject]: [() => void, (error: Error) => void] = [() => undefined, () => undefined];
  const promise = new Promise<void>((done, failed) => ([resolve, reject] = [done, failed]));
  return { promise, resolve: () => resolve(), reject: (error: Error) => reject(error) };
}

/** A consumer that connects, joins and crashes when the test says so. */
class FakeConsumer {
  readonly events = { CRASH: 'crash' };
  readonly connecting = aStep();
  readonly joining = aStep();
  connected = false;
  joined = false;
  #onCrash: (event: unknown) => void = () => undefined;

  on(_: string, listener: (event: unknown) => void): void {
    this.#onCrash = listener;
  }
  crash(): void {
    this.#onCrash({ payload: { error: new Error('crashed') } });
  }
  async connect(): Promise<void> {
    await this.connecting.promise;
    this.connected = true;
  }
  disconnect(): Promise<void> {
    this.connected = this.joined = false;
    return Promise.resolve();
  }
}

/** Lets settled promises run their callbacks. */
const settle = () => jest.advanceTimersByTimeAsync(0);

/** A consumer that has crashed, and its replacement, which is about to connect. */
async function setUp() {
  const made: FakeConsumer[] = [];
  const restarting = new RestartingConsumer({
    make: () => {
      const consumer = new FakeConsumer();
      made.push(consumer);
      return consumer as unknown as Consumer;
    },
    live: async (consumer) => {
      const fake = consumer as unknown as FakeConsumer;
      await fake.joining.promise;
      fake.joined = fake.connected = true;
    },
    onCrash: () => undefined,
    log: createLog('test', 'silent'),
  });
  const [first] = made;
  first!.connecting.resolve();
  first!.joining.resolve();
  await restarting.start();
  first!.crash();
  await jest.advanceTimersByTimeAsync(100);
  expect(made).toHaveLength(2);
  return { restarting, made, replacement: made[1]! };
}

test('a replacement that has not joined its group yet gets no commands, which would throw', () => {
  const replacement = new Kafka({ brokers: ['127.0.0.1:1'] }).consumer({ groupId: 'g' });
  const restarting = new RestartingConsumer({
    make: () => replacement,
    live: () => Promise.resolve(),
    onCrash: () => undefined,
    log: createLog('test', 'silent'),
  });
  const place = { topic: 't', number: 0 };
  const commands = restarting.commands(() => false);
  expect(() => [
    commands.seek(place, 5),
    commands.pause([place]),
    commands.resume([place]),
  ]).not.toThrow();
});

describe('the stop of a consumer that is being replaced', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  test('a replacement that is connecting neither joins the group nor stays connected', async () => {
    const { restarting, made, replacement } = await setUp();
    const stopped = restarting.stop();
    await settle();
    replacement.connecting.resolve();
    replacement.joining.resolve();
    await stopped;
    expect([replacement.connected, replacement.joined]).toEqual([false, false]);
    await jest.runAllTimersAsync();
    expect(made).toHaveLength(2);
  });

  test('a replacement that is joining leaves the group before the stop is over', async () => {
    const { restarting, made, replacement } = await setUp();
    replacement.connecting.resolve();
    await settle();
    const stopped = restarting.stop();
    await settle();
    replacement.joining.resolve();
    await stopped;
    expect([replacement.connected, replacement.joined]).toEqual([false, false]);
    await jest.runAllTimersAsync();
    expect(made).toHaveLength(2);
  });

  test('a replacement that cannot join is not replaced again', async () => {
    const { restarting, made, replacement } = await setUp();
    replacement.connecting.resolve();
    await settle();
    const stopped = restarting.stop();
    replacement.joining.reject(new Error('disconnected'));
    await stopped;
    await jest.runAllTimersAsync();
    expect(made).toHaveLength(2);
  });
});
