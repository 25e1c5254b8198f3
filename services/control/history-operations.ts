import { noticesQuery } from './alerts/notice';
import { deletionSchema, deletionsQuery } from './deletions';
import { deliveriesQuery } from './deliveries';
import { eventsQuery, streamQuery } from './events/query';
import { type Operation, type OperationKey } from './operation';
import { callsQuery, overviewQuery } from './overview';
import { pageParameters } from './query';
import { replaySchema } from './replays/scope';

/** Operations on what has happened: events, deliveries, replays, deletions, notices (operations.ts). */
export const HISTORY_OPERATIONS = {
  'GET /deliveries': {
    role: 'read_only',
    summary: 'Deliveries, the newest first, in pages',
    ok: [200, 'Deliveries'],
    query: deliveriesQuery,
  },
  'GET /deliveries/{id}': {
    role: 'read_only',
    summary: 'One delivery with its body, attempts and budget',
    ok: [200, 'Delivery'],
  },
  'GET /events': {
    role: 'read_only',
    summary: 'What sources sent lately, the newest first',
    ok: [200, 'Events'],
    query: eventsQuery,
  },
  'GET /events/stream': {
    role: 'read_only',
    summary: 'The same live, as Server-Sent Events; resumes by Last-Event-ID',
    ok: [200, 'Event'],
    query: streamQuery,
    stream: true,
  },
  'GET /deletions': {
    role: 'admin',
    summary: 'Deletions of users, the newest first, in pages',
    ok: [200, 'Deletions'],
    query: deletionsQuery,
  },
  'POST /deletions': {
    act: { kind: 'deletion', action: 'created' },
    role: 'admin',
    summary: 'Delete users and visitors: a message to each affected source, and the history forgets them',
    ok: [202, 'Deletion'],
    body: deletionSchema,
  },
  'GET /deletions/{id}': { role: 'admin', summary: 'One deletion', ok: [200, 'Deletion'] },
  'POST /deliveries/{id}/replay': {
    act: { kind: 'delivery', action: 'replayed' },
    role: 'operator',
    summary: 'Send one more time',
    ok: [202, 'ReplayedDelivery'],
  },
  'GET /replays': {
    role: 'read_only',
    summary: 'Replays, the newest first, in pages',
    ok: [200, 'Replays'],
    query: pageParameters,
  },
  'POST /replays': {
    act: { kind: 'replay', action: 'created' },
    role: 'operator',
    summary: 'Send all within a scope anew',
    ok: [202, 'Replay'],
    body: replaySchema,
  },
  'GET /replays/{id}': { role: 'read_only', summary: 'One replay and how far it is', ok: [200, 'Replay'] },
  'POST /replays/{id}/cancel': {
    act: { kind: 'replay', action: 'cancelled' },
    role: 'operator',
    summary: 'Stop it',
    ok: [200, 'Replay'],
  },
  'POST /replays/{id}/resume': {
    act: { kind: 'replay', action: 'resumed' },
    role: 'operator',
    summary: 'Go on where it was stopped',
    ok: [200, 'Replay'],
  },
  'GET /notices': {
    role: 'read_only',
    summary: 'What was noticed, the newest first, in pages',
    ok: [200, 'Notices'],
    query: noticesQuery,
  },
  'GET /notices/{id}': { role: 'read_only', summary: 'One notice', ok: [200, 'Notice'] },
  'POST /notices/{id}/acknowledge': {
    act: { kind: 'notice', action: 'acknowledged' },
    role: 'operator',
    summary: 'Say that it was seen',
    ok: [200, 'Notice'],
  },
  'GET /overview': {
    role: 'read_only',
    summary: 'How each destination fares, and in steps of time',
    ok: [200, 'Overview'],
    query: overviewQuery,
  },
  'GET /overview/calls': {
    role: 'read_only',
    summary: 'Calls accepted and rejected, in steps of time',
    ok: [200, 'Calls'],
    query: callsQuery,
  },
} as const satisfies Partial<Record<OperationKey, Operation>>;
