import { ALERTS_ID } from '../../../shared/model/config';
import { alertsSchema } from '../alerts/settings';
import { destinationSchema } from '../destinations/schema';
import { tryFilterSchema } from '../debugger/filters';
import { type Operation, type OperationKey, patchOf } from './operation';
import { pageParameters } from './query';
import { rotateSecretSchema } from '../destinations/secrets';
import { rotateKeySchema, sourceSchema } from '../sources/model';
import { testSchema } from '../destinations/test-send';

/** The operations of sources, destinations and alerts. */
export const SETTING_OPERATIONS = {
  'GET /catalog': { role: 'read_only', summary: 'List the available integrations', ok: [200, 'Catalog'] },
  'GET /sources': { role: 'read_only', summary: 'List sources', ok: [200, 'Sources'], query: pageParameters },
  'POST /sources': { role: 'admin', summary: 'Create a source', ok: [201, 'Source'], body: sourceSchema },
  'GET /sources/{id}': { role: 'read_only', summary: 'Get a source', ok: [200, 'Source'] },
  'PATCH /sources/{id}': {
    role: 'operator',
    summary: 'Update a source',
    ok: [200, 'Source'],
    body: patchOf(sourceSchema),
    conditional: true,
  },
  'DELETE /sources/{id}': { role: 'admin', summary: 'Delete a source', ok: [204], conditional: true },
  'GET /sources/{id}/events': {
    role: 'read_only',
    summary: 'List the track events of a source by name, most recent first',
    ok: [200, 'SourceEvents'],
  },
  'POST /sources/{id}/rotate-key': {
    role: 'admin',
    summary: 'Rotate the write key of a source',
    ok: [200, 'Source'],
    body: rotateKeySchema,
    conditional: true,
  },
  'GET /destinations': {
    role: 'read_only',
    summary: 'List destinations',
    ok: [200, 'Destinations'],
    query: pageParameters,
  },
  'POST /destinations': {
    role: 'admin',
    summary: 'Create a destination',
    ok: [201, 'Destination'],
    body: destinationSchema,
  },
  'GET /destinations/{id}': { role: 'read_only', summary: 'Get a destination', ok: [200, 'Destination'] },
  'PATCH /destinations/{id}': {
    role: 'operator',
    adminFields: ['webhooks', 'sharedSecret'],
    summary: 'Update a destination',
    ok: [200, 'Destination'],
    body: patchOf(destinationSchema),
    conditional: true,
  },
  'DELETE /destinations/{id}': {
    role: 'admin',
    summary: 'Delete a destination and cancel its waiting deliveries',
    ok: [204],
    conditional: true,
  },
  'POST /destinations/{id}/rotate-secret': {
    role: 'admin',
    summary: 'Rotate the shared secret of a destination',
    ok: [200, 'RotatedDestination'],
    body: rotateSecretSchema,
    conditional: true,
  },
  'POST /destinations/{id}/test': {
    act: { kind: 'destination', action: 'tested' },
    role: 'operator',
    summary: 'Send a test to a destination and wait for its attempt',
    ok: [200, 'Test'],
    body: testSchema,
  },
  'GET /destinations/{id}/filter': {
    role: 'read_only',
    alsoNeeds: 'events:read',
    summary: 'Evaluate the filter of a destination on recent events',
    ok: [200, 'Trial'],
  },
  'POST /filters/try': {
    role: 'read_only',
    alsoNeeds: 'events:read',
    summary: 'Check a filter and evaluate it on recent events',
    ok: [200, 'Trial'],
    body: tryFilterSchema,
  },
  'GET /alerts': { role: 'read_only', summary: 'Get the alert settings', ok: [200, 'Alerts'] },
  'PATCH /alerts': {
    role: 'admin',
    summary: 'Update the alert settings',
    ok: [200, 'Alerts'],
    body: patchOf(alertsSchema),
    conditional: true,
  },
  'POST /alerts/rotate-secret': {
    role: 'admin',
    summary: 'Rotate the shared secret of alerts',
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
