import { type Role } from '../../shared/domain/config';
import { noticesQuery } from './alerts/notice';
import { alertsSchema } from './alerts/settings';
import { tokenSchema } from './access/tokens';
import { sessionSchema } from './access/session-schema';
import { auditQuery } from './audit-query';
import { DEFINITION_OPERATIONS } from './definition-operations';
import { deletionSchema, deletionsQuery } from './deletions';
import { deliveriesQuery } from './deliveries';
import { destinationSchema } from './destination-schema';
import { eventsQuery, streamQuery } from './events/query';
import { tryFilterSchema } from './filters';
import { type Operation, patchOf } from './operation';
import { callsQuery, overviewQuery } from './overview';
import { pageParameters } from './query';
import { replaySchema } from './replays/scope';
import { rotateSecretSchema } from './secrets';
import { rotateKeySchema, sourceSchema } from './sources';
import { testSchema } from './test-send';

/** Every operation of the control API: what it takes and answers, and who may do it. The one table for both. */

/** Path (`{id}` is the entry's) → method → operation. A test calls each of them. */
export const OPERATIONS: Record<string, Record<string, Operation>> = {
  '/catalog': { get: { summary: 'The integrations there are', ok: [200, 'Catalog'] } },
  '/sources': {
    get: { summary: 'All sources, in pages', ok: [200, 'Sources'], query: pageParameters },
    post: { summary: 'Make a source', ok: [201, 'Source'], body: sourceSchema },
  },
  '/sources/{id}': {
    get: { summary: 'One source', ok: [200, 'Source'] },
    patch: {
      role: 'operator',
      summary: 'Change a source',
      ok: [200, 'Source'],
      body: patchOf(sourceSchema),
      conditional: true,
    },
    delete: { summary: 'Delete a source', ok: [204], conditional: true },
  },
  '/sources/{id}/events': {
    get: { summary: 'The track events it has sent, by name, the last seen first', ok: [200, 'SourceEvents'] },
  },
  '/sources/{id}/rotate-key': {
    post: { summary: 'Give it a new write key', ok: [200, 'Source'], body: rotateKeySchema, conditional: true },
  },
  '/destinations': {
    get: { summary: 'All destinations, in pages', ok: [200, 'Destinations'], query: pageParameters },
    post: { summary: 'Make a destination', ok: [201, 'Destination'], body: destinationSchema },
  },
  '/destinations/{id}': {
    get: { summary: 'One destination', ok: [200, 'Destination'] },
    patch: {
      role: 'operator',
      summary: 'Change a destination',
      ok: [200, 'Destination'],
      body: patchOf(destinationSchema),
      conditional: true,
    },
    delete: { summary: 'Delete a destination: what waits is cancelled', ok: [204], conditional: true },
  },
  '/destinations/{id}/rotate-secret': {
    post: {
      summary: 'Give it a new shared secret',
      ok: [200, 'RotatedDestination'],
      body: rotateSecretSchema,
      conditional: true,
    },
  },
  '/destinations/{id}/test': {
    post: { role: 'operator', summary: 'Send a test and wait for its attempt', ok: [200, 'Test'], body: testSchema },
  },
  ...DEFINITION_OPERATIONS,
  '/deliveries': {
    get: { summary: 'Deliveries, the newest first, in pages', ok: [200, 'Deliveries'], query: deliveriesQuery },
  },
  '/deliveries/{id}': {
    get: { summary: 'One delivery with its body, attempts and budget', ok: [200, 'Delivery'] },
  },
  '/destinations/{id}/filter': {
    get: { summary: 'How its filter fares on what its sources sent lately', ok: [200, 'Trial'] },
  },
  '/filters/try': {
    post: {
      role: 'read_only',
      summary: 'Check a filter, and try it on what sources sent lately',
      ok: [200, 'Trial'],
      body: tryFilterSchema,
    },
  },
  '/events': {
    get: { summary: 'What sources sent lately, the newest first', ok: [200, 'Events'], query: eventsQuery },
  },
  '/events/stream': {
    get: {
      summary: 'The same live, as Server-Sent Events; resumes by Last-Event-ID',
      ok: [200, 'Event'],
      query: streamQuery,
      stream: true,
    },
  },
  '/deletions': {
    get: { summary: 'Deletions of users, the newest first, in pages', ok: [200, 'Deletions'], query: deletionsQuery },
    post: {
      summary: 'Delete users: a message to each affected source, and the history forgets them',
      ok: [202, 'Deletion'],
      body: deletionSchema,
    },
  },
  '/deletions/{id}': { get: { summary: 'One deletion', ok: [200, 'Deletion'] } },
  '/deliveries/{id}/replay': {
    post: { role: 'operator', summary: 'Send one more time', ok: [202, 'ReplayedDelivery'] },
  },
  '/replays': {
    get: { summary: 'Replays, the newest first, in pages', ok: [200, 'Replays'], query: pageParameters },
    post: { role: 'operator', summary: 'Send all within a scope anew', ok: [202, 'Replay'], body: replaySchema },
  },
  '/replays/{id}': { get: { summary: 'One replay and how far it is', ok: [200, 'Replay'] } },
  '/replays/{id}/cancel': { post: { role: 'operator', summary: 'Stop it', ok: [200, 'Replay'] } },
  '/replays/{id}/resume': { post: { role: 'operator', summary: 'Go on where it was stopped', ok: [200, 'Replay'] } },
  '/alerts': {
    get: { summary: 'When alerts are raised, and where they are sent', ok: [200, 'Alerts'] },
    patch: { summary: 'Change that', ok: [200, 'Alerts'], body: patchOf(alertsSchema), conditional: true },
  },
  '/alerts/rotate-secret': {
    post: { summary: 'Give it a new secret', ok: [200, 'RotatedAlerts'], body: rotateSecretSchema, conditional: true },
  },
  '/alerts/test': {
    post: { role: 'operator', summary: 'Send a sample alert and wait for its attempt', ok: [200, 'Test'] },
  },
  '/notices': {
    get: { summary: 'What was noticed, the newest first, in pages', ok: [200, 'Notices'], query: noticesQuery },
  },
  '/notices/{id}': { get: { summary: 'One notice', ok: [200, 'Notice'] } },
  '/notices/{id}/acknowledge': {
    post: { role: 'operator', summary: 'Say that it was seen', ok: [200, 'Notice'] },
  },
  '/overview': {
    get: { summary: 'How each destination fares, and in steps of time', ok: [200, 'Overview'], query: overviewQuery },
  },
  '/overview/calls': {
    get: { summary: 'Calls accepted and rejected, in steps of time', ok: [200, 'Calls'], query: callsQuery },
  },
  '/about': { get: { summary: 'Where clients send to', ok: [200, 'About'] } },
  '/session': {
    post: { summary: 'Begin a session of a browser', ok: [200, 'Session'], body: sessionSchema, open: true },
    get: { summary: 'Who asks', ok: [200, 'Session'] },
    delete: { summary: 'End the session', ok: [204], role: 'read_only' },
  },
  '/tokens': {
    get: { summary: 'All tokens of the API, in pages', ok: [200, 'Tokens'], query: pageParameters, role: 'admin' },
    post: { summary: 'Make a token: shown in this answer alone', ok: [201, 'NewToken'], body: tokenSchema },
  },
  '/tokens/{id}': {
    get: { summary: 'One token', ok: [200, 'Token'], role: 'admin' },
    patch: { summary: 'Change a token', ok: [200, 'Token'], body: patchOf(tokenSchema), conditional: true },
    delete: { summary: 'Delete a token: it opens nothing more', ok: [204], conditional: true },
  },
  '/audit': {
    get: {
      summary: 'Changes of configuration, the newest first',
      ok: [200, 'Audit'],
      query: auditQuery,
      role: 'admin',
    },
  },
};

/** The least role that may do this; undefined where there is no such operation. Its path is below /api/v1. */
export function roleFor(method: string, path: string): Role | undefined {
  const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
  const operation = Object.entries(OPERATIONS).find(([pattern]) => matches(pattern, path))?.[1][verb];
  return operation && (operation.role ?? (verb === 'get' ? 'read_only' : 'admin'));
}

function matches(pattern: string, path: string): boolean {
  const [wanted, given] = [pattern.split('/'), path.replace(/\/$/, '').split('/')];
  return wanted.length === given.length && wanted.every((part, i) => part === '{id}' || part === given[i]);
}
