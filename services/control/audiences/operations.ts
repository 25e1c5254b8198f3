import { audienceSchema, computedTraitSchema, membersQuery, previewSchema, sizesQuery } from './schema';
import { type Operation, type OperationKey, patchOf } from '../http/operation';
import { pageParameters } from '../http/query';

/** The operations of audiences and computed traits. */
export const DEFINITION_OPERATIONS = {
  'GET /audiences': {
    role: 'read_only',
    summary: 'List audiences',
    ok: [200, 'Audiences'],
    query: pageParameters,
  },
  'POST /audiences': { role: 'admin', summary: 'Create an audience', ok: [201, 'Audience'], body: audienceSchema },
  'POST /audiences/preview': {
    role: 'read_only',
    alsoNeeds: 'audiences:read',
    summary: 'Preview the size and some members of a condition; waits for the first figures',
    ok: [201, 'Preview'],
    body: previewSchema,
  },
  'GET /audiences/previews/{id}': {
    role: 'read_only',
    summary: 'Get a preview and its progress',
    ok: [200, 'Preview'],
  },
  'DELETE /audiences/previews/{id}': { role: 'read_only', summary: 'Cancel a preview', ok: [204] },
  'GET /audiences/{id}': { role: 'read_only', summary: 'Get an audience and its status', ok: [200, 'Audience'] },
  'PATCH /audiences/{id}': {
    role: 'operator',
    summary: 'Update an audience',
    ok: [200, 'Audience'],
    body: patchOf(audienceSchema),
    conditional: true,
  },
  'DELETE /audiences/{id}': {
    role: 'admin',
    summary: 'Delete an audience and stop its updates to receivers',
    ok: [204],
    conditional: true,
  },
  'GET /audiences/{id}/members': {
    role: 'read_only',
    summary: 'List members, as sent to receivers',
    ok: [200, 'Members'],
    query: membersQuery,
  },
  'PUT /audiences/{id}/members': {
    role: 'operator',
    summary: 'Replace all members: application/x-ndjson, one user id as JSON per line',
    ok: [202, 'UploadedMembers'],
    lines: true,
  },
  'PATCH /audiences/{id}/members': {
    role: 'operator',
    summary: 'Add and remove members: one {"add": "<user id>"} or {"remove": "<user id>"} per line',
    ok: [202, 'UploadedMembers'],
    lines: true,
  },
  'GET /audiences/{id}/syncs': {
    role: 'read_only',
    summary: 'List syncs, newest first',
    ok: [200, 'Syncs'],
    query: pageParameters,
  },
  'GET /audiences/{id}/sizes': {
    role: 'read_only',
    summary: 'Get a time series of the number of members',
    ok: [200, 'Sizes'],
    query: sizesQuery,
  },
  'GET /computed-traits': {
    role: 'read_only',
    summary: 'List computed traits',
    ok: [200, 'ComputedTraits'],
    query: pageParameters,
  },
  'POST /computed-traits': {
    role: 'admin',
    summary: 'Create a computed trait',
    ok: [201, 'ComputedTrait'],
    body: computedTraitSchema,
  },
  'GET /computed-traits/{id}': {
    role: 'read_only',
    summary: 'Get a computed trait and its status',
    ok: [200, 'ComputedTrait'],
  },
  'PATCH /computed-traits/{id}': {
    role: 'operator',
    summary: 'Update a computed trait',
    ok: [200, 'ComputedTrait'],
    body: patchOf(computedTraitSchema),
    conditional: true,
  },
  'DELETE /computed-traits/{id}': { role: 'admin', summary: 'Delete a computed trait', ok: [204], conditional: true },
  'GET /computed-traits/{id}/members': {
    role: 'read_only',
    summary: 'List users with a value, as sent to receivers',
    ok: [200, 'Members'],
    query: membersQuery,
  },
  'GET /computed-traits/{id}/syncs': {
    role: 'read_only',
    summary: 'List syncs, newest first',
    ok: [200, 'Syncs'],
    query: pageParameters,
  },
  'GET /computed-traits/{id}/sizes': {
    role: 'read_only',
    summary: 'Get a time series of the number of users with a value',
    ok: [200, 'Sizes'],
    query: sizesQuery,
  },
} as const satisfies Partial<Record<OperationKey, Operation>>;
