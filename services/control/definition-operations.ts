import { audienceSchema, computedTraitSchema, membersQuery, previewSchema, sizesQuery } from './definition-schema';
import { type Operation, type OperationKey, patchOf } from './operation';
import { pageParameters } from './query';

/** What the control API does with audiences and computed traits (operations.ts). */
export const DEFINITION_OPERATIONS = {
  'GET /audiences': {
    role: 'read_only',
    summary: 'All audiences, in pages',
    ok: [200, 'Audiences'],
    query: pageParameters,
  },
  'POST /audiences': { role: 'admin', summary: 'Make an audience', ok: [201, 'Audience'], body: audienceSchema },
  'POST /audiences/preview': {
    role: 'read_only',
    alsoNeeds: 'audiences:read',
    summary: 'How many a condition would have as members, and some of them; waits for the first figures',
    ok: [201, 'Preview'],
    body: previewSchema,
  },
  'GET /audiences/previews/{id}': { role: 'read_only', summary: 'How far a preview is', ok: [200, 'Preview'] },
  'DELETE /audiences/previews/{id}': { role: 'read_only', summary: 'End a preview', ok: [204] },
  'GET /audiences/{id}': { role: 'read_only', summary: 'One audience, and how far it is', ok: [200, 'Audience'] },
  'PATCH /audiences/{id}': {
    role: 'operator',
    summary: 'Change an audience',
    ok: [200, 'Audience'],
    body: patchOf(audienceSchema),
    conditional: true,
  },
  'DELETE /audiences/{id}': {
    role: 'admin',
    summary: 'Delete an audience: nobody is told of it any more',
    ok: [204],
    conditional: true,
  },
  'GET /audiences/{id}/members': {
    role: 'read_only',
    summary: 'Who is in it, as receivers were told, in pages',
    ok: [200, 'Members'],
    query: membersQuery,
  },
  'PUT /audiences/{id}/members': {
    role: 'operator',
    summary: 'These are its members: a user id in JSON a line, as application/x-ndjson',
    ok: [202, 'UploadedMembers'],
    lines: true,
  },
  'PATCH /audiences/{id}/members': {
    role: 'operator',
    summary: 'These come and go: {"add": "<user id>"} or {"remove": "<user id>"} a line',
    ok: [202, 'UploadedMembers'],
    lines: true,
  },
  'GET /audiences/{id}/syncs': {
    role: 'read_only',
    summary: 'Its syncs, the newest first, in pages',
    ok: [200, 'Syncs'],
    query: pageParameters,
  },
  'GET /audiences/{id}/sizes': {
    role: 'read_only',
    summary: 'How many it had as members, in steps of time',
    ok: [200, 'Sizes'],
    query: sizesQuery,
  },
  'GET /computed-traits': {
    role: 'read_only',
    summary: 'All computed traits, in pages',
    ok: [200, 'ComputedTraits'],
    query: pageParameters,
  },
  'POST /computed-traits': {
    role: 'admin',
    summary: 'Make a computed trait',
    ok: [201, 'ComputedTrait'],
    body: computedTraitSchema,
  },
  'GET /computed-traits/{id}': {
    role: 'read_only',
    summary: 'One computed trait, and how far it is',
    ok: [200, 'ComputedTrait'],
  },
  'PATCH /computed-traits/{id}': {
    role: 'operator',
    summary: 'Change a computed trait',
    ok: [200, 'ComputedTrait'],
    body: patchOf(computedTraitSchema),
    conditional: true,
  },
  'DELETE /computed-traits/{id}': { role: 'admin', summary: 'Delete a computed trait', ok: [204], conditional: true },
  'GET /computed-traits/{id}/members': {
    role: 'read_only',
    summary: 'Who has a value, as receivers were told, in pages',
    ok: [200, 'Members'],
    query: membersQuery,
  },
  'GET /computed-traits/{id}/syncs': {
    role: 'read_only',
    summary: 'Its syncs, the newest first, in pages',
    ok: [200, 'Syncs'],
    query: pageParameters,
  },
  'GET /computed-traits/{id}/sizes': {
    role: 'read_only',
    summary: 'How many had a value, in steps of time',
    ok: [200, 'Sizes'],
    query: sizesQuery,
  },
} as const satisfies Partial<Record<OperationKey, Operation>>;
