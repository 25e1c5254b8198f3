import { type Json } from '../../../shared/model/message';
import { type RequestExpressions } from '../expressions/request-expressions';
import { errorAt, type FieldError } from '../http/problem';
import { fieldsOf } from '../http/validate';
import { isAuth } from './stored-webhook';

/** Formats whose receivers take one event a request, or whose body is only a part of the event. */
const SINGLE = ['slack', 'teams', 'discord', 'pagerduty', 'cloudevents-binary'];

/**
 * Returns an error if `batch` excludes the `request` of a body, or the authentication of a URL: a
 * batch is a JSON array of whole events.
 * @param webhooks sent or stored
 */
export function batchErrors(
  body: Json,
  webhooks: readonly { auth?: unknown }[],
  expressions: RequestExpressions,
): FieldError[] {
  const { batch, request } = fieldsOf(body);
  if (batch === undefined || batch === null) return [];
  if (webhooks.some(({ auth }) => isAuth(auth) && auth.type === 'pagerduty')) {
    return [
      error(
        'cannot be used with the authentication pagerduty, which writes a member into the ' +
          'body of one event',
      ),
    ];
  }
  const { format, body: template } = fieldsOf(request);
  if (typeof format === 'string' && SINGLE.includes(format)) {
    return [
      error(
        `cannot be used with the format ${format}, whose receivers take one event in each request`,
      ),
    ];
  }
  const compiled = typeof template === 'string' ? expressions.body(template) : undefined;
  const isText = compiled?.kind === 'template' && compiled.yields === 'text';
  return isText
    ? [error('cannot be used with a body that is text, because a batch is a JSON array')]
    : [];
}

function error(detail: string): FieldError {
  return errorAt(['batch'], detail);
}
