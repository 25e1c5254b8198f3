import { z } from 'zod';
import { MESSAGE_TYPES } from '../model/message';
import { DELIVERY_STATUSES, END_REASONS } from '../model/reasons';
import { render } from './deliveries';
import { count, list, pageParameters, time, timeInput } from './fields';
import { type OperationsOf } from './operation';

/** Replays: requests, responses and operations. */

const MAX_PER_SECOND = 10_000;
/** Slow enough that a replay after an outage does not cause the next one. */
const DEFAULT_PER_SECOND = 200;

const ORIGINS = ['dead_letters', 'messages'] as const;
export type Origin = (typeof ORIGINS)[number];

export const replayBody = z.strictObject({
  destination: z.string().min(1),
  from: timeInput
    .optional()
    .meta({ description: 'Accepted at this time or later. Omit for everything retained' }),
  to: timeInput.optional().meta({ description: 'Accepted before this time. Default: now' }),
  status: z
    .enum(DELIVERY_STATUSES)
    .optional()
    .meta({ description: 'Only deliveries with this status in the history' }),
  reason: z.enum(END_REASONS).optional().meta({
    description: 'Only deliveries that ended for this reason, such as circuit_open',
  }),
  type: z.enum(MESSAGE_TYPES).optional(),
  origin: z.enum(ORIGINS).optional().meta({
    description:
      'dead_letters, or messages: all accepted messages, also from before the destination existed',
  }),
  render,
  includeDelivered: z
    .boolean()
    .default(false)
    .meta({ description: 'Include deliveries that were delivered' }),
  onlyFailedUrls: z.boolean().default(false).meta({
    description: 'Send each only to the URLs whose last try failed or was never made',
  }),
  preview: z.boolean().default(false).meta({ description: 'Count only; send nothing' }),
  maxPerSecond: z.number().min(0.1).max(MAX_PER_SECOND).default(DEFAULT_PER_SECOND),
});

const replay = z.strictObject({
  id: z.string(),
  action: z.enum(['replay', 'retry', 'cancel']).meta({
    description: 'retry and cancel: of all deliveries that waited at the destination',
  }),
  status: z.enum(['counting', 'running', 'done', 'cancelled', 'failed']),
  asked: count.meta({
    description:
      'While it counts, what it has found so far; while it runs, all in its scope; then those ' +
      'that it handed over to be sent, or cancelled',
  }),
  cancelled: count.nullable().meta({
    description: 'Of those asked, cancelled so far; null unless it is a cancel',
  }),
  attempted: count.nullable().meta({
    description: 'Of those asked, with an attempt of this job so far; null for a cancel',
  }),
  delivered: count.nullable().meta({
    description: 'Of those asked, delivered so far; null for a cancel',
  }),
  failedAgain: count
    .nullable()
    .meta({ description: 'Of those asked, failed so far: waiting for a retry, or dead' }),
  held: count.nullable().meta({
    description: 'Of those asked, still held without an attempt of this job; null for a cancel',
  }),
  superseded: count.nullable().meta({
    description:
      'Of those asked, without a result of this job: sent again or cancelled later, or no ' +
      'longer in the history; null: not known yet; always for a cancel',
  }),
  from: time.nullable(),
  to: time,
  destination: z.string(),
  origin: z.enum([...ORIGINS, 'waiting']),
  render: z.enum(['as_sent', 'again']),
  deliveryStatus: z.enum(DELIVERY_STATUSES).nullable(),
  reason: z.enum(END_REASONS).nullable(),
  type: z.enum(MESSAGE_TYPES).nullable(),
  includeDelivered: z.boolean(),
  onlyFailedUrls: z.boolean(),
  preview: z.boolean(),
  maxPerSecond: z.number().nullable(),
  pass: z.enum(['counting', 'running']),
  progress: z.number().meta({ description: 'Progress of the current pass, 0 to 1' }),
  error: z.string().nullable(),
  waitingFor: z.enum(['history']).nullable().meta({
    description:
      'history: the replay starts when the history has read all events up to the request',
  }),
  createdAt: time,
  updatedAt: time,
});

export const REPLAY_RESPONSES = { Replay: replay, Replays: list(replay) };

export const REPLAY_OPERATIONS = {
  'GET /replays': {
    summary: 'List replays, newest first, without previews',
    ok: [200, 'Replays'],
    query: pageParameters,
  },
  'POST /replays': {
    act: { kind: 'replay', action: 'created' },
    summary: 'Replay all deliveries in a scope',
    ok: [202, 'Replay'],
    location: '/replays/{id}',
    body: replayBody,
  },
  'GET /replays/{id}': { summary: 'Get a replay and its progress', ok: [200, 'Replay'] },
  'POST /replays/{id}/cancel': {
    act: { kind: 'replay', action: 'cancelled' },
    summary: 'Cancel a replay',
    ok: [200, 'Replay'],
  },
  'POST /replays/{id}/resume': {
    act: { kind: 'replay', action: 'resumed' },
    summary: 'Resume a cancelled or failed replay',
    ok: [200, 'Replay'],
  },
} as const satisfies OperationsOf<'replays'>;
