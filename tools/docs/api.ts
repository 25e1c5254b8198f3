import { openApi } from '../../services/control/app/openapi';
import { markdownTable } from '../harness/table';

/** The table of operations in docs/reference/control-api.md, from the OpenAPI document. */

interface Schema {
  properties?: Record<string, unknown>;
  required?: string[];
}
interface Operation {
  summary: string;
  'x-waypost-role': string;
  parameters?: { name: string; in: string }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

export function operationsTable(): string {
  const { paths } = openApi() as { paths: Record<string, Record<string, Operation>> };
  const rows = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [
      `\`${method.toUpperCase()} ${path}\``,
      operation['x-waypost-role'].replace('_', '-'),
      requestOf(operation),
      operation.summary,
    ]),
  );
  return markdownTable([['operation', 'least role', 'query or body', 'summary'], ...rows]);
}

function requestOf({ parameters = [], requestBody }: Operation): string {
  const query = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  const parts = query.length > 0 ? [`\`?${query.join('&')}\``] : [];
  for (const [type, { schema }] of Object.entries(requestBody?.content ?? {})) {
    parts.push(type === 'application/json' ? bodyOf(schema) : `lines of JSON (\`${type}\`)`);
  }
  return parts.join(' ');
}

/** `{name, enabled?}`: a field that may be absent has a question mark. */
function bodyOf({ properties = {}, required = [] }: Schema): string {
  const fields = Object.keys(properties).map((name) =>
    required.includes(name) ? name : `${name}?`,
  );
  return `\`{${fields.join(', ')}}\``;
}
