import { audienceSchema, computedTraitSchema, membersQuery, previewSchema, sizesQuery } from './definition-schema';
import { type Operation, patchOf } from './operation';
import { pageParameters } from './query';

/** What the control API does with audiences and computed traits (operations.ts). */
export const DEFINITION_OPERATIONS: Record<string, Record<string, Operation>> = {
  '/audiences': {
    get: { summary: 'All audiences, in pages', ok: [200, 'Audiences'], query: pageParameters },
    post: { summary: 'Make an audience', ok: [201, 'Audience'], body: audienceSchema },
  },
  '/audiences/preview': {
    post: {
      role: 'read_only',
      summary: 'How many a condition would have as members, and some of them; waits for the first figures',
      ok: [201, 'Preview'],
      body: previewSchema,
    },
  },
  '/audiences/previews/{id}': {
    get: { summary: 'How far a preview is', ok: [200, 'Preview'] },
    delete: { role: 'read_only', summary: 'End a preview', ok: [204] },
  },
  '/audiences/{id}': {
    get: { summary: 'One audience, and how far it is', ok: [200, 'Audience'] },
    patch: {
      role: 'operator',
      summary: 'Change an audience',
      ok: [200, 'Audience'],
      body: patchOf(audienceSchema),
      conditional: true,
    },
    delete: { summary: 'Delete an audience: nobody is told of it any more', ok: [204], conditional: true },
  },
  '/audiences/{id}/members': {
    get: { summary: 'Who is in it, as receivers were told, in pages', ok: [200, 'Members'], query: membersQuery },
    put: {
      role: 'operator',
      summary: 'These are its members: a user id in JSON a line, as application/x-ndjson',
      ok: [202, 'UploadedMembers'],
      lines: true,
    },
    patch: {
      role: 'operator',
      summary: 'These come and go: {"add": "<user id>"} or {"remove": "<user id>"} a line',
      ok: [202, 'UploadedMembers'],
      lines: true,
    },
  },
  '/audiences/{id}/syncs': {
    get: { summary: 'Its syncs, the newest first, in pages', ok: [200, 'Syncs'], query: pageParameters },
  },
  '/audiences/{id}/sizes': {
    get: { summary: 'How many it had as members, in steps of time', ok: [200, 'Sizes'], query: sizesQuery },
  },
  '/computed-traits': {
    get: { summary: 'All computed traits, in pages', ok: [200, 'ComputedTraits'], query: pageParameters },
    post: { summary: 'Make a computed trait', ok: [201, 'ComputedTrait'], body: computedTraitSchema },
  },
  '/computed-traits/{id}': {
    get: { summary: 'One computed trait, and how far it is', ok: [200, 'ComputedTrait'] },
    patch: {
      role: 'operator',
      summary: 'Change a computed trait',
      ok: [200, 'ComputedTrait'],
      body: patchOf(computedTraitSchema),
      conditional: true,
    },
    delete: { summary: 'Delete a computed trait', ok: [204], conditional: true },
  },
  '/computed-traits/{id}/members': {
    get: { summary: 'Who has a value, as receivers were told, in pages', ok: [200, 'Members'], query: membersQuery },
  },
  '/computed-traits/{id}/syncs': {
    get: { summary: 'Its syncs, the newest first, in pages', ok: [200, 'Syncs'], query: pageParameters },
  },
  '/computed-traits/{id}/sizes': {
    get: { summary: 'How many had a value, in steps of time', ok: [200, 'Sizes'], query: sizesQuery },
  },
};
