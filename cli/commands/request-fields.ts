import { type Destination, type Operations } from '../../shared/api/operations';
import { BODY_FORMATS, METHODS } from '../../shared/model/request-settings';
import { oneOf, type Session, whole } from '../command';
import { replacing } from '../export-file/replacing';
import { parseHeaders } from '../headers';
import { readInput } from '../secret-input';

/** The options for the `request` of a destination: its method, body and rendered headers. */

type Request = NonNullable<Operations['PATCH /destinations/{id}']['body']['request']>;
type Before = Pick<Destination, 'request'>;

export interface RequestOptions {
  method?: string;
  format?: string;
  body?: string;
  renderedHeadersFile?: string;
  gzipAbove?: string;
}

export const REQUEST_EDITS: [string, string][] = [
  ['--method <method>', METHODS.join(', ')],
  ['--format <format>', `shape of the body: ${BODY_FORMATS.join(', ')}`],
  ['--body <cel>', 'the body as a CEL expression, or @file; "" removes it'],
  [
    '--rendered-headers-file <file>',
    'headers rendered for each message, one "Name: CEL" per line; - for standard input',
  ],
  ['--gzip-above <bytes>', 'compress larger bodies; none for never'],
];

const MAX_GZIP_ABOVE = 5_000_000;

/**
 * @param before undefined at creation
 * @throws CliError
 */
export async function requestFieldsOf(
  session: Session,
  options: RequestOptions,
  before?: Before,
): Promise<{ request?: Request }> {
  const { method, format, body, renderedHeadersFile: file, gzipAbove } = options;
  const request: Request = {};
  if (method !== undefined) request.method = oneOf(method.toUpperCase(), '--method', METHODS);
  // The API refuses both together, and the last choice is the wanted one.
  if (format !== undefined) {
    Object.assign(request, { format: oneOf(format, '--format', BODY_FORMATS), body: null });
  }
  if (body !== undefined) request.body = (await expressionOf(session, body)) || null;
  if (request.body) request.format = null;
  if (file !== undefined) request.headers = parseHeaders(await readInput(session.world, file));
  if (gzipAbove !== undefined) {
    request.gzipAbove =
      gzipAbove === 'none' ? null : whole(gzipAbove, '--gzip-above', [0, MAX_GZIP_ABOVE]);
  }
  if (Object.keys(request).length === 0) return {};
  return { request: replacing(before?.request ?? null, request) ?? request };
}

async function expressionOf({ world }: Session, given: string): Promise<string> {
  return (given.startsWith('@') ? await readInput(world, given.slice(1)) : given).trim();
}

/** Returns the lines for `Printer.thing`; none for the default. */
export function requestLines({ request }: Before): [string, string | number | undefined][] {
  if (!request) return [];
  const { method, format, body, headers, gzipAbove } = request;
  return [
    ['method', method ?? undefined],
    ['format', format ?? undefined],
    ['body', body ?? undefined],
    ...Object.entries(headers ?? {}).map(([name, value]): [string, string] => [
      'header',
      `${name}: ${value}`,
    ]),
    ['gzip above', gzipAbove ?? undefined],
  ];
}
