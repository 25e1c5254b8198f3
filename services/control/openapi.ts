import { z } from 'zod';
import { type AnswerName, ANSWERS } from './answers';
import { deliveriesQuery } from './deliveries';
import { destinationSchema } from './destination-schema';
import { overviewQuery } from './overview';
import { pageParameters } from './query';
import { deletionSchema, deletionsQuery } from './deletions';
import { eventsQuery, streamQuery } from './events/query';
import { replaySchema } from './replays/scope';
import { rotateSecretSchema } from './secrets';
import { rotateKeySchema, sourceSchema } from './sources';
import { testSchema } from './test-send';

/** The OpenAPI 3.1 document of the control API: bodies from the very schemas that check them. */

interface Operation {
  summary: string;
  /** status of success, and what it answers; none: no body */
  ok: [status: number, answer?: AnswerName];
  body?: z.ZodType;
  /** entries have versions: If-Match is heeded */
  conditional?: boolean;
  query?: z.ZodObject;
  /** answers without end: each event's `data` is of this shape */
  stream?: boolean;
}

/** Path (`{id}` is the entry's) → method → operation. A test calls each of them. */
export const OPERATIONS: Record<string, Record<string, Operation>> = {
  '/catalog': { get: { summary: 'The integrations there are', ok: [200, 'Catalog'] } },
  '/sources': {
    get: { summary: 'All sources, in pages', ok: [200, 'Sources'], query: pageParameters },
    post: { summary: 'Make a source', ok: [201, 'Source'], body: sourceSchema },
  },
  '/sources/{id}': {
    get: { summary: 'One source', ok: [200, 'Source'] },
    patch: { summary: 'Change a source', ok: [200, 'Source'], body: patchOf(sourceSchema), conditional: true },
    delete: { summary: 'Delete a source', ok: [204], conditional: true },
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
    post: { summary: 'Send a test and wait for its attempt', ok: [200, 'Test'], body: testSchema },
  },
  '/deliveries': {
    get: { summary: 'Deliveries, the newest first, in pages', ok: [200, 'Deliveries'], query: deliveriesQuery },
  },
  '/deliveries/{id}': {
    get: { summary: 'One delivery with its body, attempts and budget', ok: [200, 'Delivery'] },
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
    post: { summary: 'Send one more time', ok: [202, 'ReplayedDelivery'] },
  },
  '/replays': {
    get: { summary: 'Replays, the newest first, in pages', ok: [200, 'Replays'], query: pageParameters },
    post: { summary: 'Send all within a scope anew', ok: [202, 'Replay'], body: replaySchema },
  },
  '/replays/{id}': { get: { summary: 'One replay and how far it is', ok: [200, 'Replay'] } },
  '/replays/{id}/cancel': { post: { summary: 'Stop it', ok: [200, 'Replay'] } },
  '/replays/{id}/resume': { post: { summary: 'Go on where it was stopped', ok: [200, 'Replay'] } },
  '/overview': {
    get: { summary: 'How each destination fares, and in steps of time', ok: [200, 'Overview'], query: overviewQuery },
  },
};

/** A merge patch: every field may be absent, and null where the body that makes an entry may do without. */
function patchOf(schema: z.ZodObject): z.ZodType {
  const fields = Object.entries(schema.shape as Record<string, z.ZodType>).map(([field, type]) => [
    field,
    type.safeParse(undefined).success ? type.nullable().optional() : type.optional(),
  ]);
  return z.strictObject(Object.fromEntries(fields) as Record<string, z.ZodType>);
}

/** The whole document. */
export function openApi(): object {
  const paths = Object.entries(OPERATIONS).map(([path, methods]) => [
    path,
    Object.fromEntries(
      Object.entries(methods).map(([method, operation]) => [method, operationObject(path, operation)]),
    ),
  ]);
  return {
    openapi: '3.1.0',
    info: { title: 'Waypost control API', version: '1', description: 'See docs/control-api.md' },
    servers: [{ url: '/api/v1' }],
    security: [{ adminToken: [] }],
    paths: Object.fromEntries(paths) as object,
    components: {
      securitySchemes: { adminToken: { type: 'http', scheme: 'bearer' } },
      schemas: Object.fromEntries(Object.entries(ANSWERS).map(([name, schema]) => [name, jsonSchema(schema)])),
      responses: { Problem: content('What is wrong', 'Problem', 'application/problem+json') },
    },
  };
}

function operationObject(path: string, { summary, ok, body, conditional, query, stream }: Operation): object {
  const [status, answer] = ok;
  const parameters = [
    ...(path.includes('{id}') ? [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }] : []),
    ...(conditional ? [{ name: 'If-Match', in: 'header', schema: { type: 'string' } }] : []),
    ...(query ? queryParameters(query) : []),
  ];
  return {
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { content: { 'application/json': { schema: jsonSchema(body) } } } }),
    responses: {
      [status]: answer
        ? content(summary, answer, stream ? 'text/event-stream' : 'application/json')
        : { description: summary },
      default: { $ref: '#/components/responses/Problem' },
    },
  };
}

function queryParameters(query: z.ZodObject): object[] {
  return Object.entries(query.shape as Record<string, z.ZodType>).map(([name, type]) => {
    const { description, default: _, ...schema } = jsonSchema(type) as Record<string, unknown>;
    const required = !type.safeParse(undefined).success;
    return {
      name,
      in: 'query',
      ...(required && { required }),
      ...(description !== undefined && { description }),
      schema,
    };
  });
}

function content(description: string, answer: AnswerName, type: string): object {
  return { description, content: { [type]: { schema: { $ref: `#/components/schemas/${answer}` } } } };
}

function jsonSchema(schema: z.ZodType): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' });
  return rest;
}
