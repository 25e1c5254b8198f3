import { noticesQuery } from '../alerts/notice';
import { deletionSchema, deletionsQuery } from '../deletions/model';
import { deliveriesQuery } from '../deliveries/model';
import { eventsQuery, streamQuery } from '../debugger/filters';
import { type Operation, type OperationKey } from './operation';
import { callsQuery, overviewQuery } from '../overview/model';
import { pageParameters } from './query';
import { replaySchema } from '../replays/scope';

/** The operations of events, deliveries, replays, deletions, notices and the overview. */
export const HISTORY_OPERATIONS = {
  'GET /deliveries': {
    role: 'read_only',
    summary: 'List deliveries, newest first',
    ok: [200, 'Deliveries'],
    query: deliveriesQuery,
  },
  'GET /deliveries/{id}': {
    role: 'read_only',
    summary: 'Get a delivery with its body, attempts and remaining time',
    ok: [200, 'Delivery'],
  },
  'GET /events': {
    role: 'read_only',
    summary: 'List recent events, newest first',
    ok: [200, 'Events'],
    query: eventsQuery,
  },
  'GET /events/stream': {
    role: 'read_only',
    summary: 'Stream events as Server-Sent Events; resumes with Last-Event-ID',
    ok: [200, 'Event'],
    query: streamQuery,
    stream: true,
  },
  'GET /deletions': {
    role: 'admin',
    summary: 'List deletions of users, newest first',
    ok: [200, 'Deletions'],
    query: deletionsQuery,
  },
  'POST /deletions': {
    act: { kind: 'deletion', action: 'created' },
    role: 'admin',
    summary: 'Delete users and visitors: sends a message to each affected source and removes them from the history',
    ok: [202, 'Deletion'],
    body: deletionSchema,
  },
  'GET /deletions/{id}': { role: 'admin', summary: 'Get a deletion', ok: [200, 'Deletion'] },
  'POST /deliveries/{id}/replay': {
    act: { kind: 'delivery', action: 'replayed' },
    role: 'operator',
    summary: 'Replay a delivery',
    ok: [202, 'ReplayedDelivery'],
  },
  'GET /replays': {
    role: 'read_only',
    summary: 'List replays, newest first',
    ok: [200, 'Replays'],
    query: pageParameters,
  },
  'POST /replays': {
    act: { kind: 'replay', action: 'created' },
    role: 'operator',
    summary: 'Replay all deliveries in a scope',
    ok: [202, 'Replay'],
    body: replaySchema,
  },
  'GET /replays/{id}': { role: 'read_only', summary: 'Get a replay and its progress', ok: [200, 'Replay'] },
  'POST /replays/{id}/cancel': {
    act: { kind: 'replay', action: 'cancelled' },
    role: 'operator',
    summary: 'Cancel a replay',
    ok: [200, 'Replay'],
  },
  'POST /replays/{id}/resume': {
    act: { kind: 'replay', action: 'resumed' },
    role: 'operator',
    summary: 'Resume a cancelled or failed replay',
    ok: [200, 'Replay'],
  },
  'GET /notices': {
    role: 'read_only',
    summary: 'List notices, newest first',
    ok: [200, 'Notices'],
    query: noticesQuery,
  },
  'GET /notices/{id}': { role: 'read_only', summary: 'Get a notice', ok: [200, 'Notice'] },
  'POST /notices/{id}/acknowledge': {
    act: { kind: 'notice', action: 'acknowledged' },
    role: 'operator',
    summary: 'Acknowledge a notice',
    ok: [200, 'Notice'],
  },
  'GET /overview': {
    role: 'read_only',
    summary: 'Get the state of each destination and a time series',
    ok: [200, 'Overview'],
    query: overviewQuery,
  },
  'GET /overview/calls': {
    role: 'read_only',
    summary: 'Get a time series of accepted and rejected calls',
    ok: [200, 'Calls'],
    query: callsQuery,
  },
} as const satisfies Partial<Record<OperationKey, Operation>>;
