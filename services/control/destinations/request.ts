import { type z } from 'zod';
import { type requestBody } from '../../../shared/api/request';
import { defined } from '../../../shared/collections/defined';
import { type RequestSettings } from '../../../shared/model/request-settings';
import { type Json } from '../../../shared/model/message';
import { type RenderFailure } from '../../../shared/render/render-request';
import { type RequestExpressions } from '../expressions/request-expressions';
import { errorAt, type FieldError } from '../http/problem';
import { fieldsOf } from '../http/validate';
import { headerNames, isAuth } from './stored-webhook';

/**
 * Validates the `request` of a destination beyond its schema and its expressions, and converts it
 * between its API form and its stored form. Pure.
 */

type Given = z.output<typeof requestBody> | null | undefined;

/** Returns what is stored: only the given fields; undefined if all of them are the default. */
export function storedRequest(given: Given): RequestSettings | undefined {
  const { method, format, body, gzipAbove } = given ?? {};
  const headers = Object.entries(given?.headers ?? {}).filter(
    (header): header is [string, string] => header[1] !== null,
  );
  const request: RequestSettings = defined({
    method: method ?? undefined,
    format: format ?? undefined,
    body: body ?? undefined,
    headers: headers.length > 0 ? Object.fromEntries(headers) : undefined,
    gzipAbove: gzipAbove ?? undefined,
  });
  return Object.keys(request).length > 0 ? request : undefined;
}

export function requestView(request: RequestSettings | undefined) {
  if (!request) return null;
  const { method = null, format = null, body = null, headers = null, gzipAbove = null } = request;
  return { method, format, body, headers, gzipAbove };
}

/**
 * Returns a failed rendering as an error of the field. @param before path to the destination in the
 * request
 */
export function fieldError({ field, message }: RenderFailure, before: string[] = []): FieldError {
  return errorAt([...before, 'request', ...field.split('/')], message);
}

/**
 * Returns an error for each rendered header that the authentication, the signature or a static
 * header of a webhook also sets: a request would carry both.
 * @param body after the merge
 * @param webhooks sent or stored
 */
export function headerClashes(
  body: Json,
  webhooks: readonly { headers?: unknown; auth?: unknown }[],
): FieldError[] {
  const custom = fieldsOf(fieldsOf(fieldsOf(body).signature).custom).header;
  const fixed = new Set(webhooks.flatMap(headerNames));
  if (typeof custom === 'string') fixed.add(custom.toLowerCase());
  return Object.keys(fieldsOf(fieldsOf(fieldsOf(body).request).headers))
    .filter((name) => fixed.has(name.toLowerCase()))
    .map((name) =>
      errorAt(
        ['request', 'headers', name],
        'is also a header of a webhook, of its authentication or of the signature. Remove ' +
          'one of them',
      ),
    );
}

/**
 * Returns an error if the body is a list or text and the authentication of a URL needs a map.
 * @param body after the merge
 * @param webhooks sent or stored
 */
export function bodyClashes(
  body: Json,
  webhooks: readonly { auth?: unknown }[],
  expressions: RequestExpressions,
): FieldError[] {
  const template = fieldsOf(fieldsOf(body).request).body;
  if (
    typeof template !== 'string' ||
    !webhooks.some(({ auth }) => isAuth(auth) && auth.type === 'pagerduty')
  ) {
    return [];
  }
  const compiled = expressions.body(template);
  const yields = compiled.kind === 'template' ? compiled.yields : undefined;
  if (yields === undefined || yields === 'map') return [];
  const detail =
    `is ${yields === 'list' ? 'a list' : 'text'}, but the authentication pagerduty writes ` +
    'the routing key into a map. Yield a map, such as {"event_action": "trigger", "payload": ' +
    '…}';
  return [errorAt(['request', 'body'], detail)];
}
