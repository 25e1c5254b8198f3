import { ALERTS_ID } from '../../shared/domain/config';
import { alertsSchema } from './alerts/settings';
import { destinationSchema } from './destination-schema';
import { tryFilterSchema } from './filters';
import { type Operation, type OperationKey, patchOf } from './operation';
import { pageParameters } from './query';
import { rotateSecretSchema } from './secrets';
import { rotateKeySchema, sourceSchema } from './sources';
import { testSchema } from './test-send';

/** Operations on sources, destinations and alerts (operations.ts). */
export const SETTING_OPERATIONS = {
  'GET /catalog': { role: 'read_only', summary: 'The integrations there are', ok: [200, 'Catalog'] },
  'GET /sources': { role: 'read_only', summary: 'All sources, in pages', ok: [200, 'Sources'], query: pageParameters },
  'POST /sources': { role: 'admin', summary: 'Make a source', ok: [201, 'Source'], body: sourceSchema },
  'GET /sources/{id}': { role: 'read_only', summary: 'One source', ok: [200, 'Source'] },
  'PATCH /sources/{id}': {
    role: 'operator',
    summary: 'Change a source',
    ok: [200, 'Source'],
    body: patchOf(sourceSchema),
    conditional: true,
  },
  'DELETE /sources/{id}': { role: 'admin', summary: 'Delete a source', ok: [204], conditional: true },
  'GET /sources/{id}/events': {
    role: 'read_only',
    summary: 'The track events it has sent, by name, the last seen first',
    ok: [200, 'SourceEvents'],
  },
  'POST /sources/{id}/rotate-key': {
    role: 'admin',
    summary: 'Give it a new write key',
    ok: [200, 'Source'],
    body: rotateKeySchema,
    conditional: true,
  },
  'GET /destinations': {
    role: 'read_only',
    summary: 'All destinations, in pages',
    ok: [200, 'Destinations'],
    query: pageParameters,
  },
  'POST /destinations': {
    role: 'admin',
    summary: 'Make a destination',
    ok: [201, 'Destination'],
    body: destinationSchema,
  },
  'GET /destinations/{id}': { role: 'read_only', summary: 'One destination', ok: [200, 'Destination'] },
  'PATCH /destinations/{id}': {
    role: 'operator',
    adminFields: ['webhooks', 'sharedSecret'],
    summary: 'Change a destination',
    ok: [200, 'Destination'],
    body: patchOf(destinationSchema),
    conditional: true,
  },
  'DELETE /destinations/{id}': {
    role: 'admin',
    summary: 'Delete a destination: what waits is cancelled',
    ok: [204],
    conditional: true,
  },
  'POST /destinations/{id}/rotate-secret': {
    role: 'admin',
    summary: 'Give it a new shared secret',
    ok: [200, 'RotatedDestination'],
    body: rotateSecretSchema,
    conditional: true,
  },
  'POST /destinations/{id}/test': {
    act: { kind: 'destination', action: 'tested' },
    role: 'operator',
    summary: 'Send a test and wait for its attempt',
    ok: [200, 'Test'],
    body: testSchema,
  },
  'GET /destinations/{id}/filter': {
    role: 'read_only',
    alsoNeeds: 'events:read',
    summary: 'How its filter fares on what its sources sent lately',
    ok: [200, 'Trial'],
  },
  'POST /filters/try': {
    role: 'read_only',
    alsoNeeds: 'events:read',
    summary: 'Check a filter, and try it on what sources sent lately',
    ok: [200, 'Trial'],
    body: tryFilterSchema,
  },
  'GET /alerts': { role: 'read_only', summary: 'When alerts are raised, and where they are sent', ok: [200, 'Alerts'] },
  'PATCH /alerts': {
    role: 'admin',
    summary: 'Change that',
    ok: [200, 'Alerts'],
    body: patchOf(alertsSchema),
    conditional: true,
  },
  'POST /alerts/rotate-secret': {
    role: 'admin',
    summary: 'Give it a new secret',
    ok: [200, 'RotatedAlerts'],
    body: rotateSecretSchema,
    conditional: true,
  },
  'POST /alerts/test': {
    act: { kind: 'destination', action: 'tested', entry: ALERTS_ID },
    role: 'operator',
    summary: 'Send a sample alert and wait for its attempt',
    ok: [200, 'Test'],
  },
} as const satisfies Partial<Record<OperationKey, Operation>>;
