import { z } from 'zod';
import { OPERATION_IDS, type OperationId, RIGHTS, rightsFor } from '../../../shared/api/access';
import { operationOf, type ResponseName, RESPONSES } from '../../../shared/api/operations';
import { compact, defined } from '../../../shared/collections/defined';
import { SESSION_COOKIE, TLS_SESSION_COOKIE } from '../auth/authenticate';

/** Builds the OpenAPI 3.1 document of the control API from the schemas that validate the bodies. */

export function openApi() {
  const paths: Record<string, Record<string, object>> = {};
  for (const id of OPERATION_IDS) {
    const [method = '', path = ''] = id.split(' ');
    (paths[path] ??= {})[method.toLowerCase()] = operationObject(id, path);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Waypost control API',
      version: '1',
      description: 'See docs/reference/control-api.md',
    },
    servers: [{ url: '/api/v1' }],
    security: [{ token: [] }, { session: [] }, { tlsSession: [] }],
    paths,
    'x-waypost-rights': RIGHTS,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        session: { type: 'apiKey', in: 'cookie', name: SESSION_COOKIE },
        tlsSession: {
          type: 'apiKey',
          in: 'cookie',
          name: TLS_SESSION_COOKIE,
          description: 'For browsers over TLS',
        },
      },
      schemas: Object.fromEntries(
        Object.entries(RESPONSES).map(([name, schema]) => [name, jsonSchema(schema)]),
      ),
      responses: { Problem: content('Problem details', 'Problem', 'application/problem+json') },
    },
  };
}

function operationObject(id: OperationId, path: string): object {
  const { summary, ok, role, adminFields, body, conditional, query, stream, lines } =
    operationOf(id);
  const rights = rightsFor(id);
  const [status, response] = ok;
  const parameters = compact([
    path.includes('{id}')
      ? { name: 'id', in: 'path', required: true, schema: { type: 'string' } }
      : undefined,
    conditional ? { name: 'If-Match', in: 'header', schema: { type: 'string' } } : undefined,
    ...(query ? queryParameters(query) : []),
  ]);
  return {
    summary,
    'x-waypost-role': role,
    ...defined({
      'x-waypost-rights': rights.length > 0 ? rights : undefined,
      'x-waypost-admin-fields': adminFields,
      security: role === 'none' ? [] : undefined,
      parameters: parameters.length > 0 ? parameters : undefined,
      requestBody: body
        ? { content: { 'application/json': { schema: jsonSchema(body) } } }
        : undefined,
    }),
    ...defined({
      requestBody: lines
        ? { content: { 'application/x-ndjson': { schema: { type: 'string' } } } }
        : undefined,
    }),
    responses: {
      [status]: response
        ? content(summary, response, stream ? 'text/event-stream' : 'application/json')
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
      ...defined({
        required: required || undefined,
        description,
      }),
      schema,
    };
  });
}

function content(description: string, response: ResponseName, type: string): object {
  return {
    description,
    content: { [type]: { schema: { $ref: `#/components/schemas/${response}` } } },
  };
}

function jsonSchema(schema: z.ZodType): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    reused: 'inline',

    // On the wire a flag is one of two texts, and no text is a boolean.
    override: ({ jsonSchema: made }) => {
      if (made.type === 'boolean') delete made.enum;
    },
  });
  return rest;
}
