import { AppError } from './errors';

/** Waits for work with a limit. */

/**
 * Waits for the work, but no longer than so many ms; it runs on then.
 * @throws what the work fails with while it is waited for
 */
export async function withTimeout(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const enough = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  try {
    await Promise.race([work, enough]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Waits for an answer of Kafka, but no longer than so many ms; the work runs on then, and its failure is handled.
 * @throws AppError `kafka_unavailable` where it takes longer; what the work fails with
 */
export async function withDeadline<T>(work: Promise<T>, deadlineMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new AppError('kafka_unavailable', `Kafka did not answer within ${deadlineMs} ms`, true));
    }, deadlineMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
