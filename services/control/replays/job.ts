import { defined } from '../../../shared/collections/defined';
import { type Range } from '../../../shared/kafka/port';
import { type Origin, replayBody } from '../../../shared/api/replays';
import {
  CANCEL_REASONS,
  type DeliveryStatus,
  type EndReason,
  isDelivered,
  isUnderWay,
} from '../../../shared/model/reasons';
import { type ConfigView } from '../../../shared/config/types';
import { DEAD, MESSAGES } from '../../../shared/kafka/topics';
import { type MessageType } from '../../../shared/model/message';
import { errorAt, type FieldError } from '../http/problem';
import { invalidFields, parseBody } from '../http/validate';
import { requireOn, requireReplayable } from './require';

/** Validates what a replay should send. Pure. */

/** Times are ms since 1970. */
export interface Scope {
  destination: string;
  origin: Origin;
  /** absent: dead letters are sent as they were rendered */
  render?: 'again';
  from: number | null;
  to: number;
  status: DeliveryStatus | null;
  /** of its end */
  reason: EndReason | null;
  type: MessageType | null;
  includeDelivered: boolean;
  onlyFailedUrls: boolean;
}

export interface WantedReplay {
  scope: Scope;
  preview: boolean;
  maxPerSecond: number;
}

/**
 * @throws Problem `invalid_fields`, or `conflict` if the destination is off and would cancel the
 * deliveries, or if it is that of the alerts
 */
export function readReplay(
  body: unknown,
  config: Pick<ConfigView, 'destination'>,
  now: Date,
): WantedReplay {
  const fields = parseBody(replayBody, body);
  const { destination, status, reason, type, preview, maxPerSecond } = fields;
  requireReplayable(destination);
  const errors: FieldError[] = [];
  const wrong = (field: string, detail: string) => errors.push(errorAt([field], detail));
  if (!config.destination(destination)) wrong('destination', 'unknown destination');
  const from = fields.from === undefined ? null : Date.parse(fields.from);
  // Messages accepted from now on are delivered anyway.
  const to = Math.min(fields.to === undefined ? Infinity : Date.parse(fields.to), now.getTime());
  if (from !== null && from >= to) wrong('to', 'must be later than `from`');
  if (isUnderWay(status)) wrong('status', 'deliveries in progress cannot be replayed');
  // Only deliveries with status dead have dead letters.
  const isDead = status === undefined ? !fields.onlyFailedUrls : status === 'dead';
  const isCancelled = CANCEL_REASONS.some((each) => each === reason);
  const origin = fields.origin ?? (isDead && !isCancelled ? 'dead_letters' : 'messages');
  if (errors.length > 0) throw invalidFields(errors);
  requireOn(config, destination);
  const includeDelivered = fields.includeDelivered || isDelivered(status);
  const { onlyFailedUrls } = fields;
  const again = fields.render === 'again' ? { render: fields.render } : {};
  const scope = {
    ...again,
    destination,
    origin,
    from,
    to,
    status: status ?? null,
    reason: reason ?? null,
    type: type ?? null,
    includeDelivered,
    onlyFailedUrls,
  };
  return { scope, preview, maxPerSecond };
}

export function topicOf(scope: Scope): string {
  return readsMessages(scope) ? MESSAGES : DEAD;
}

/**
 * Returns whether a replay reads messages, and renders them by the present settings of the
 * destination.
 */
export function readsMessages({ origin, render }: Scope): boolean {
  return origin === 'messages' || render === 'again';
}

/**
 * A replay as stored in the database, and its transitions. Pure. First all records within the scope
 * are counted, then sent. Each pass reads the same partitions, up to their ends at the time of the
 * request.
 */

type JobStatus = 'counting' | 'running' | 'done' | 'cancelled' | 'failed';

/** The position of a pass in a partition. */
export interface ReplayCursor {
  partition: number;
  /** start of the scope */
  low: number;
  next: number;
  end: number;
}

/** Progress of a job by the notes of retry in `webhooks.recalls`. */
export interface RecallProgress {
  requested: boolean;
  /** when it was sent, ms since 1970; absent: not sent yet */
  requestedAt?: number;
  /** time of the last note of retry, or of the first look of a process, ms since 1970 */
  notedAt?: number;
  /** offset of the first note that was not read */
  next: number;
  /** partitions of the tiers that are searched, and their number; 0: not known yet */
  searched: number[];
  of: number;
}

export interface Job {
  id: string;
  /** ms since 1970 */
  createdAt: number;
  updatedAt: number;
  status: JobStatus;
  /** the current pass, or the last one before the replay stopped */
  pass: 'counting' | 'running';
  /** absent: a replay; otherwise of all deliveries that wait at the destination (recall-run.ts) */
  action?: 'retry' | 'cancel';
  scope: Scope;
  preview: boolean;
  /** null: as fast as the endpoint responds */
  maxPerSecond: number | null;
  places: ReplayCursor[];
  /** absent: they may still change, and the history counts them */
  results?: JobResults;
  /** only for the actions retry and cancel */
  recall?: RecallProgress;
  matched: number;
  sent: number;
  error: string | null;
  /**
   * ends of `attempts` at the time of the request, which the history must have read first; absent:
   * it has read them
   */
  historyUpTo?: Range[];
  /**
   * ends of `attempts` after the last saved chunk, before the events of all later ones; absent: it
   * has not begun to send
   */
  sentUpTo?: Range[];
  /** the same of `webhooks.due`; recalls have none, since retry writes their records */
  dueUpTo?: Range[];
}

export function newJob(
  wanted: WantedReplay,
  made: { id: string; now: Date; places: ReplayCursor[]; historyUpTo?: Range[] },
): Job {
  const at = made.now.getTime();
  return {
    id: made.id,
    createdAt: at,
    updatedAt: at,
    status: 'counting',
    pass: 'counting',
    ...wanted,
    places: made.places,
    matched: 0,
    sent: 0,
    error: null,
    ...defined({ historyUpTo: made.historyUpTo }),
  };
}

export function newRecallJob(
  wanted: { destination: string; action: 'retry' | 'cancel'; maxPerSecond: number | null },
  made: { id: string; now: Date },
): Job {
  const { destination, action, maxPerSecond } = wanted;
  const to = made.now.getTime();
  const all = {
    from: null,
    to,
    status: null,
    type: null,
    includeDelivered: false,
    reason: null,
    onlyFailedUrls: false,
  } as const;
  const scope: Scope = { destination, origin: 'dead_letters', ...all };
  return {
    ...newJob({ scope, preview: false, maxPerSecond: 1 }, { ...made, places: [] }),
    action,
    maxPerSecond,
  };
}

export function isActive({ status }: Pick<Job, 'status'>): boolean {
  return status === 'counting' || status === 'running';
}

/** Returns whether retry has searched all partitions of the tiers. */
export function isSearched(recall: RecallProgress | undefined): boolean {
  return recall !== undefined && recall.of > 0 && recall.searched.length >= recall.of;
}

/**
 * Returns the status for users. A cancellation is done once it has everything that waited. After
 * that it counts the deliveries whose attempt fails later, which are cancelled in their tier.
 */
export function shownStatus(
  job: Pick<Job, 'status' | 'action' | 'recall' | 'matched' | 'sent'>,
): JobStatus {
  const { status, action, recall, matched, sent } = job;
  const hasAll =
    status === 'running' && action === 'cancel' && isSearched(recall) && sent >= matched;
  return hasAll ? 'done' : status;
}

export function currentCursor({ places }: Job): ReplayCursor | undefined {
  return places.find(({ next, end }) => next < end);
}

export function nextPass(job: Job): Job {
  if (job.pass === 'running' || job.preview || job.matched === 0) return { ...job, status: 'done' };
  const places = job.places.map((cursor) => ({ ...cursor, next: cursor.low }));
  return { ...job, status: 'running', pass: 'running', places };
}

/**
 * Returns the number of records of an append: few enough for an even rate, and enough for efficient
 * appends.
 */
export function chunkOf(maxPerSecond: number): number {
  return Math.max(1, Math.min(500, Math.floor(maxPerSecond / 5)));
}

export interface JobResults {
  delivered: number;
  failedAgain: number;
  /** with an attempt of the job */
  attempted: number;
  /** without an attempt of the job, and held back */
  held: number;
  /**
   * without a result of the job: sent again or cancelled later, or deleted; absent: not known yet
   */
  superseded?: number;
}
