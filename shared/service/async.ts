import { AppError } from './errors';

/** Waits for work with a limit. */

/**
 * Waits for the work, but at most `ms`; the work continues after that.
 * @throws the error of the work, if it fails within that time
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
 * Waits for a response of Kafka, but at most `deadlineMs`; the work continues after that, and its failure is ignored.
 * @throws AppError `kafka_unavailable` if it takes longer; the error of the work
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
