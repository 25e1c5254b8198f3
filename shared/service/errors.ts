/**
 * The few errors that Waypost throws on purpose. An endpoint's failure is never one of them: it is an outcome
 * (shared/model/classify-response.ts).
 */

/** Stable codes, for programs; the message is for people. */
export type ErrorCode =
  /** a bounded buffer is full; try again shortly */
  | 'overloaded'
  /** Kafka did not acknowledge in time */
  | 'kafka_unavailable'
  /** Kafka does not take the record: a right or a topic is missing, or the record itself is wrong */
  | 'kafka_refused'
  /** settings are wrong: every mistake is in the message */
  | 'bad_settings'
  /** something that must be there before the start is missing (Java, a port, a broker, a lock) */
  | 'cannot_start'
  /** a record was written by a newer version of Waypost than this process understands */
  | 'newer_format';

/** @property retriable whether the same call may succeed later, unchanged */
export class AppError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly retriable = false,
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.name = 'AppError';
  }
}

/** The text of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
