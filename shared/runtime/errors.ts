import { newerFormatOf } from '../model/record-format';

/**
 * The few errors that Waypost throws on purpose. A failure of an endpoint is not an error but an
 * outcome (shared/model/classify-response.ts).
 */

/** Stable codes, for programs; the message is for people. */
export type ErrorCode =
  /** a bounded buffer is full; try again shortly */
  | 'overloaded'
  /** Kafka did not acknowledge in time */
  | 'kafka_unavailable'
  /** Kafka refuses the record: an ACL or a topic is missing, or the record itself is wrong */
  | 'kafka_refused'
  /** a record became void before it was written */
  | 'withdrawn'
  /** settings are wrong; the message lists every mistake */
  | 'bad_settings'
  /** a requirement of the start is missing (Java, a port, a broker, a lock) */
  | 'cannot_start'
  /** a newer version of Waypost wrote a record that this process cannot read */
  | 'newer_format'
  /** an earlier build of Waypost wrote the data */
  | 'older_format';

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

/**
 * Returns whether Kafka refuses records for good. A stopping process refuses writes for the moment:
 * then the records in hand stay open, and their next owner reads them again.
 */
export function isRefused(error: unknown): error is AppError {
  return error instanceof AppError && !error.retriable;
}

/** Returns whether the same may succeed later, here or in another process. */
export function isRetriable(error: unknown): error is AppError {
  return error instanceof AppError && error.retriable;
}

/** Returns whether a record became void before it was written. */
export function isWithdrawn(error: unknown): boolean {
  return error instanceof AppError && error.code === 'withdrawn';
}

/** Returns the text of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

interface RecordAt {
  topic: string;
  partition: number;
  offset: number;
}

/**
 * Returns the error of a reader that meets a record of a newer format, and leaves it in Kafka.
 * @param who to upgrade, as in "this router"
 */
export function newerFormat(at: RecordAt, format: string, who: string): AppError {
  return new AppError(
    'newer_format',
    `The topic ${at.topic} holds a record (partition ${at.partition}, offset ${at.offset}) ` +
      `of format ${format}, written by a newer Waypost than ${who}. Upgrade it.`,
  );
}

/**
 * @param who as for `newerFormat`
 * @throws AppError `newer_format`
 */
export function requireKnownFormat(record: RecordAt & { headers: Headers }, who: string): void {
  const format = newerFormatOf(record.headers);
  if (format !== undefined) throw newerFormat(record, format, who);
}
type Headers = Parameters<typeof newerFormatOf>[0];

/**
 * Returns the error of a start on data of an earlier build, as one sentence.
 * @param sign what shows it, as in "the topic config holds …"
 */
export function fromEarlierBuild(sign: string): AppError {
  return new AppError(
    'older_format',
    `An earlier build of Waypost wrote this data (${sign}), which this build does not ` +
      `open: run \`waypost export\` with that build, start this one with new data, and run ` +
      `\`waypost import\` (docs/operations/upgrading.md#data-of-an-earlier-build)`,
  );
}
