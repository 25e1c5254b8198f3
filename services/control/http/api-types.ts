/**
 * Generates TypeScript types of the API from the OpenAPI document alone, by which the console and other clients are
 * checked. Pure; `npm run generate` writes the file, and a test verifies that it is up to date.
 */

interface Schema {
  type?: string | readonly string[];
  properties?: Record<string, Schema>;
  required?: readonly string[];
  additionalProperties?: boolean | Schema;
  propertyNames?: Schema;
  items?: Schema;
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly Schema[];
  $ref?: string;
  description?: string;
}
type Content = Record<string, { schema: Schema }>;
interface Operation {
  summary: string;
  'x-waypost-role': string;
  'x-waypost-rights'?: readonly string[];
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema: Schema }[];
  requestBody?: { content: Content };
  responses: Record<string, { content?: Content }>;
}
export interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

const HEAD =
  '/** Generated from the OpenAPI document by `npm run generate`: change services/control/http/operations.ts instead. */';

export function apiTypes({ paths, components }: Document): string {
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) => `export type ${name} = ${typeOf(schema, '')};`,
  );
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationOf(`${method.toUpperCase()} ${path}`, operation)),
  );
  const types = [...schemas, `export interface Operations {\n${operations.join('\n')}\n}`];
  return [HEAD, ...types, accessOf(paths)].join('\n\n') + '\n';
}

/** The only value among the types, since a page shows only the actions that the user's role and rights allow. */
function accessOf(paths: Document['paths']): string {
  const lines = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { 'x-waypost-role': role, 'x-waypost-rights': rights = [] }]) => {
      const name = `${method.toUpperCase()} ${path}`;
      return `  ${JSON.stringify(name)}: { role: ${JSON.stringify(role)}, rights: ${JSON.stringify(rights)} },`;
    }),
  );
  return [
    '/** The least role of each operation, and all rights that a token with a list of rights needs. */',
    'export const ACCESS: Readonly<Record<keyof Operations, { role: "none" | Session["role"]; rights: readonly string[] }>> = {',
    ...lines,
    '};',
  ].join('\n');
}

function operationOf(name: string, { summary, parameters = [], requestBody, responses }: Operation): string {
  const query = parameters.filter((parameter) => parameter.in === 'query');
  const properties = Object.fromEntries(
    query.map(({ name: key, description, schema }) => [
      key,
      description === undefined ? schema : { ...schema, description },
    ]),
  );
  const required = query.filter((parameter) => parameter.required).map(({ name: key }) => key);
  const body = requestBody?.content['application/json']?.schema;
  const answer = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content;
  const schema = answer && Object.values(answer)[0]?.schema;
  return [
    `  /** ${summary} */`,
    `  ${JSON.stringify(name)}: {`,
    `    query: ${query.length === 0 ? 'undefined' : typeOf({ type: 'object', properties, required }, '    ')};`,
    `    body: ${body ? typeOf(body, '    ') : 'undefined'};`,
    `    answer: ${schema ? typeOf(schema, '    ') : 'undefined'};`,
    '  };',
  ].join('\n');
}

/** @param indent indentation of the line that contains the type */
function typeOf(schema: Schema, indent: string): string {
  if (schema.$ref !== undefined) return schema.$ref.replace(/^.*\//, '');
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.anyOf) return [...new Set(schema.anyOf.map((each) => typeOf(each, indent)))].join(' | ');
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.length === 0) return 'unknown';
  return types.map((type) => ofType(type, schema, indent)).join(' | ');
}

function ofType(type: string, schema: Schema, indent: string): string {
  switch (type) {
    case 'object':
      return objectOf(schema, indent);
    case 'array':
      return arrayOf(typeOf(schema.items ?? {}, indent));
    case 'integer':
      return 'number';
    default:
      return type;
  }
}

function arrayOf(type: string): string {
  return /^\w+$/.test(type) ? `${type}[]` : `(${type})[]`;
}

function objectOf({ properties, required = [], additionalProperties, propertyNames }: Schema, indent: string): string {
  if (!properties) {
    const value = typeof additionalProperties === 'object' ? typeOf(additionalProperties, indent) : 'unknown';
    // With an enum of names, each of them is optional.
    return propertyNames?.enum
      ? `Partial<Record<${typeOf(propertyNames, indent)}, ${value}>>`
      : `Record<string, ${value}>`;
  }
  if (Object.keys(properties).length === 0) return 'Record<string, never>';
  const inner = `${indent}  `;
  const lines = Object.entries(properties).flatMap(([name, schema]) => [
    ...(schema.description === undefined ? [] : [`${inner}/** ${schema.description} */`]),
    `${inner}${/^\w+$/.test(name) ? name : JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema, inner)};`,
  ]);
  return `{\n${lines.join('\n')}\n${indent}}`;
}
