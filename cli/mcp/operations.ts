import { hasRight, mayAct, type Right } from '../../shared/api/access';
import { type Session } from '../../shared/api/operations';
import { compact, defined } from '../../shared/collections/defined';
import { type Role } from '../../shared/model/config';

/** Describes the operations of a control API as tools, by its OpenAPI document. Pure. */

type JsonSchema = Record<string, unknown>;

interface OpenApiOperation {
  summary: string;
  'x-waypost-role': Role | 'none';
  'x-waypost-rights'?: Right[];
  parameters?: {
    name: string;
    in: 'path' | 'header' | 'query';
    required?: boolean;
    description?: string;
    schema: JsonSchema;
  }[];
  requestBody?: { content: Record<string, { schema: JsonSchema }> };
  responses: Record<string, { content?: Record<string, unknown> }>;
}

export interface OpenApi {
  paths: Record<string, Record<string, OpenApiOperation>>;
}

export interface OperationTool {
  /** such as `GET /deliveries` */
  operation: string;
  name: string;
  summary: string;
  /** arguments, as JSON Schema */
  input: {
    type: 'object';
    properties: Record<string, JsonSchema>;
    required: string[];
    additionalProperties: false;
  };
  /** query parameters among the arguments */
  parameters: string[];
  /** query parameters that are times */
  times: string[];
  /** fields of the body that the tool sets itself */
  fixed: Record<string, unknown>;
  annotations: {
    readOnlyHint: boolean;
    destructiveHint: boolean;
    idempotentHint: boolean;
    openWorldHint: boolean;
  };
}

/** Which tools an assistant is offered, besides those that read. */
export interface Allowed {
  /** tools that change something */
  writes: boolean;
  /** all tools of tokens and of deletions of users */
  admin: boolean;
}

/**
 * Returns the operations that a token may call, as tools. Event streams are left out, because they
 * have no end, and sessions, because they are for browsers: the assistant has a token.
 */
export function operationTools(
  { paths }: OpenApi,
  { role, rights }: Pick<Session, 'role' | 'rights'>,
  allowed: Allowed,
): OperationTool[] {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({
      method: method.toUpperCase(),
      path,
      described,
    })),
  );
  return all
    .filter(({ path, described }) => {
      const { 'x-waypost-role': needed, 'x-waypost-rights': needs = [] } = described;
      const may =
        mayAct(role, needed) && needs.every((right) => hasRight(rights ?? undefined, right));
      return may && !isStream(described) && path !== '/session';
    })
    .flatMap(({ method, path, described }) => toolsOf(method, path, described))
    .filter(({ operation, annotations }) =>
      isAdministration(operation) ? allowed.admin : allowed.writes || annotations.readOnlyHint,
    );
}

/**
 * Tokens give access, and a deletion of a user cannot be undone: an assistant that follows a text
 * of a stranger would do the most harm with them.
 */
function isAdministration(operation: string): boolean {
  return /^\w+ \/(tokens|deletions)(\/|$)/.test(operation);
}

function isStream({ responses }: OpenApiOperation): boolean {
  return Object.values(responses).some(({ content = {} }) => 'text/event-stream' in content);
}

const VERBS: Readonly<Record<string, string>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'replace',
  PATCH: 'update',
  DELETE: 'delete',
};

/** An act on several, which also exists for one. */
const ON_SEVERAL = '/notices/acknowledge';

/**
 * `GET /deliveries` → list_deliveries, `POST /destinations/{id}/rotate-secret` →
 * rotate_destination_secret.
 */
export function toolName(method: string, path: string, isList = false): string {
  const parts = path.slice(1).replace('.json', '').split('/');
  const nouns = parts.flatMap((part, i) => {
    const isOne =
      (method === 'POST' && path !== ON_SEVERAL) ||
      parts[i + 1] === '{id}' ||
      (i < parts.length - 1 && path !== ON_SEVERAL);
    return part === '{id}' ? [] : [isOne ? singular(part) : part];
  });
  // The last part of `POST /replays/{id}/cancel` is what happens.
  const [verb = '', ...object] =
    method === 'POST' && nouns.length > 1
      ? (nouns.pop() ?? '').split('-')
      : [isList ? 'list' : (VERBS[method] ?? method)];
  return [verb, ...nouns, ...object].join('_').replaceAll('-', '_');
}

function singular(word: string): string {
  return word.replace(/ies$/, 'y').replace(/s$/, '');
}

/**
 * Without one of these verbs, a tool that changes something may destroy something. A replay job is
 * not among them: receivers get everything in its scope again, and nobody can take that back.
 */
const ADDS = /^(acknowledge|replay|retry|test)_/;

/**
 * Returns the tools of an operation. One whose body can ask for a preview becomes two: a host
 * allows tools by their names, and no tool both reads and writes.
 */
function toolsOf(method: string, path: string, described: OpenApiOperation): OperationTool[] {
  const body = described.requestBody?.content['application/json']?.schema;
  const { preview, ...properties } = (body?.properties ?? {}) as Record<string, JsonSchema>;
  if (preview === undefined) return [toolOf(method, path, described)];
  const tool = toolOf(method, path, described);
  const input = {
    ...tool.input,
    properties: { ...tool.input.properties, body: { ...body, properties } },
  };
  return [
    {
      ...tool,
      input,
      name: tool.name.replace(/^[a-z]+/, 'preview'),
      summary: `${tool.summary}: count only, and send nothing`,
      fixed: { preview: true },
      annotations: annotationsOf('preview', { method, reads: true }),
    },
    { ...tool, input, fixed: { preview: false } },
  ];
}

function toolOf(method: string, path: string, described: OpenApiOperation): OperationTool {
  const { summary, parameters = [], requestBody, 'x-waypost-role': role } = described;
  const query = parameters.filter((parameter) => parameter.in === 'query');
  const [body, lines] = ['application/json', 'application/x-ndjson'].map(
    (type) => requestBody?.content[type]?.schema,
  );
  const properties: Record<string, JsonSchema> = {
    ...defined({
      id: path.includes('{id}') ? { type: 'string', description: idOf(path) } : undefined,
    }),
    ...Object.fromEntries(
      query.map(({ name, description, schema }) => [name, { ...schema, description }]),
    ),
    ...defined({
      body,
      lines: lines
        ? { type: 'array', items: { type: 'string' }, description: 'The lines of the upload' }
        : undefined,
      version: parameters.some(({ name }) => name === 'If-Match')
        ? {
            type: 'integer',
            description: 'Refuse the change if the entry has another version by now',
          }
        : undefined,
    }),
  };
  // A POST that every reader may call computes something, and stores nothing.
  const reads = method === 'GET' || (method === 'POST' && role === 'read_only');
  const needed = [
    'id',
    ...query.filter(({ required }) => required).map(({ name }) => name),
    'lines',
  ];
  const needsBody = Array.isArray(body?.required) && body.required.length > 0;
  const name = toolName(
    method,
    path,
    query.some((parameter) => parameter.name === 'limit'),
  );
  return {
    operation: `${method} ${path}`,
    name,
    summary,
    input: {
      type: 'object',
      properties,
      required: compact([
        ...needed.filter((name) => name in properties),
        needsBody ? 'body' : undefined,
      ]),
      additionalProperties: false,
    },
    parameters: query.map(({ name }) => name),
    times: query.flatMap((parameter) =>
      parameter.schema.format === 'date-time' ? [parameter.name] : [],
    ),
    fixed: {},
    annotations: annotationsOf(name, { method, reads }),
  };
}

function annotationsOf(
  name: string,
  { method, reads }: { method: string; reads: boolean },
): OperationTool['annotations'] {
  return {
    readOnlyHint: reads,
    destructiveHint: !reads && !ADDS.test(name),
    idempotentHint: method !== 'POST' && method !== 'PATCH',
    openWorldHint: !reads,
  };
}

function idOf(path: string): string {
  return path.startsWith('/deliveries')
    ? 'The id of the delivery (its webhook-id), such as dlv_…'
    : 'The id, or a unique name';
}
