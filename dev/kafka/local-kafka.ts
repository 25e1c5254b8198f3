import { join } from 'node:path';
import { AppError, messageOf } from '../../shared/runtime/errors';
import { kafkaAddress, probeKafka, waitForKafka } from '../../shared/kafka/client/connection';
import { loadSettings, type Settings } from '../../shared/runtime/settings';
import { type Broker } from './broker';
import { findKafka } from './kafka-source';
import { restartOnExit, type RestartedProgram } from '../restart';
import { type Output } from '../output';
import { isCoordinatorStuck } from './coordinator-watchdog';

/**
 * The Kafka of a local system: the one in KAFKA_BROKERS, otherwise an embedded broker that is
 * restarted when it ends.
 */

/** A busy machine, and a broker that recovers its records after a kill. */
const READY_MS = 90_000;
/** An external Kafka either runs already or does not. */
const GIVEN_READY_MS = 10_000;

/** The address of a usable Kafka. */
export interface LocalKafka {
  brokers: string[];
  embedded: boolean;
  /** the settings with which a service connects to it; of an external Kafka, its brokers */
  environment: Record<string, string>;
}

/**
 * Finds or starts Kafka, and waits until it is usable.
 * @param started receives the broker as soon as there is one to stop
 * @param fatal called later if the broker cannot return under its address
 * @throws AppError `cannot_start` in one sentence
 */
export async function localKafka(options: {
  settings: Settings;
  output: Output;
  started: (kept: RestartedProgram) => void;
  fatal: (error: unknown) => void;
  /** once aborted, nothing is started any more */
  stopping: AbortSignal;
  /** tests replace it */
  find?: typeof findKafka;
}): Promise<LocalKafka> {
  const { settings, output, stopping, find = findKafka } = options;
  if (settings.KAFKA_BROKERS && settings.KAFKA_BROKERS.length > 0) {
    await waitForGiven(settings);
    const brokers = settings.KAFKA_BROKERS;
    return { brokers, embedded: false, environment: { KAFKA_BROKERS: brokers.join(',') } };
  }
  const launch = await find((text) => output.say(`  ${text} …`), settings);
  stopping.throwIfAborted();
  const dir = join(settings.WAYPOST_DATA_DIR, 'kafka');
  return new Promise<LocalKafka>((resolve, reject) => {
    let address: string | undefined;
    let wasReady = false;
    const launched = (broker: Broker) => {
      if (address === undefined) {
        address = broker.address;
        broker.ready(READY_MS).then(() => {
          wasReady = true;
          const { address, environment } = broker;
          resolve({ brokers: [address], embedded: true, environment });
          // The next start makes it, if this one cannot.
          broker.archiveClasses(false).catch((error: unknown) => {
            output.event('kafka.classes_not_archived', { why: messageOf(error) });
          });
        }, reject);
      } else if (address !== broker.address) {
        options.fatal(
          new AppError(
            'cannot_start',
            `Kafka ended, and something else now listens on ${address}; start again.`,
          ),
        );
      } else {
        void startAnewIfStuck(broker, output);
      }
    };
    options.started(
      restartOnExit({
        launch: async () => {
          // A failure of the first launch is final; later launches are retried.
          const broker = await launch({ dir }).catch((error: unknown) => {
            reject(error instanceof Error ? error : new Error(messageOf(error)));
            throw error;
          });
          launched(broker);
          return broker;
        },
        onDown: (ending, pauseMs) => {
          // The start itself reports the failure of the first broker, and no restart follows.
          if (wasReady) output.event('kafka.ended', { how: ending.text, restartInMs: pauseMs });
        },
      }),
    );
  });
}

/** `restartOnExit` starts it again. */
async function startAnewIfStuck(broker: Broker, output: Output): Promise<void> {
  const ended = new AbortController();
  void broker.ended.then(() => ended.abort());
  const kafka = kafkaAddress(loadSettings(broker.environment));
  if (!(await isCoordinatorStuck(() => probeKafka(kafka), ended.signal))) return;
  output.event('kafka.stuck', {
    why: 'it refuses consumer groups since its last start',
    then: 'it is restarted',
  });
  broker.kill();
}

async function waitForGiven(settings: Settings): Promise<void> {
  try {
    await waitForKafka(kafkaAddress(settings), GIVEN_READY_MS);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const advice = 'Check KAFKA_BROKERS, or unset it: then Waypost runs a Kafka of its own.';
    throw new AppError('cannot_start', `${error.message} ${advice}`, false, { cause: error });
  }
}
