import { defined } from '../../../shared/collections/defined';
import { stringifyJson } from '../../../shared/json/json';
import { z } from 'zod';
import { destinationBody } from '../../../shared/api/destinations';
import { previewBody } from '../../../shared/api/request';
import { type Destination } from '../../../shared/model/config';
import { deliveryId } from '../../../shared/model/delivery';
import { type Message } from '../../../shared/model/message';
import { parseMessage } from '../../../shared/model/message-codec';
import { addOwnHeaders, CONTENT_ENCODING } from '../../../shared/model/webhook-request';
import { type Rendered, renderOnce } from '../../../shared/render/render-request';
import { requireRights } from '../auth/authenticate';
import { type Identity } from '../http/identity';
import { type ConfigView } from '../../../shared/config/types';
import { type TrialDeps } from '../debugger/filters';
import {
  compileAll,
  expressionErrors,
  RequestExpressions,
} from '../expressions/request-expressions';
import { errorAt, type Problem } from '../http/problem';
import { invalidFields, parseBody } from '../http/validate';
import { fieldError, storedRequest } from './request';
import { headerNames } from './stored-webhook';
import { sampleMessage } from './test-send';

/** Shows the request that a destination would get, and sends nothing. */

const MASKED = '***';
/** Stands for the source and the destination of a message that has none. */
const PREVIEW = 'preview';

const draft = z.object({ destination: destinationBody.partial() });

type Target = Pick<Destination, 'id' | 'request'> & {
  signature?: {
    xSignature?: boolean | undefined;
    ed25519?: unknown;
    custom?: { header: string } | null | undefined;
  };
  isSigned: boolean;
  /** its first webhook */
  webhook: { headers?: unknown; auth?: { type: string } | null | undefined };
};

export interface RequestPreviewDeps extends TrialDeps {
  config: Pick<ConfigView, 'destination'>;
  now: () => Date;
}

/**
 * @throws Problem `invalid_fields` with the field that is wrong, or that the message cannot be
 * rendered for; `forbidden` if the token may not read the event; `rate_limited` and
 * `too_much_work` for its expressions
 */
export function previewRequest(
  deps: RequestPreviewDeps,
  body: unknown,
  { actor, rights }: Identity,
) {
  const { destination, event, message } = parseBody(previewBody, body);
  if (event !== undefined) requireRights(['events:read'], rights);
  return deps.work.inTurn(actor.id, async (work) => {
    const expressions = new RequestExpressions(work);
    const known = typeof destination === 'string' ? stored(deps, destination) : undefined;
    await compileAll(expressions, work, known ?? destination);
    const target = known ?? drafted(body, destination, expressions);
    const shown =
      event === undefined
        ? { source: PREVIEW, message: given(deps, message) }
        : recent(deps, event);
    if (event !== undefined && message !== undefined) {
      throw wrong('message', 'cannot be combined with event');
    }
    const rendered = work.run(() => renderOnce(shown.message, shown.source, target, expressions));
    if (rendered.kind === 'failed') throw invalidFields([fieldError(rendered, ['destination'])]);
    const id = deliveryId(shown.source, shown.message.messageId, target.id);
    return view(target, rendered, id);
  });
}

function wrong(field: string, detail: string): Problem {
  return invalidFields([errorAt([field], detail)]);
}

function stored({ config }: RequestPreviewDeps, id: string): Target {
  const destination = config.destination(id)?.data;
  if (!destination) throw wrong('destination', 'is not the id of a destination');
  const { request, signature, secrets, webhooks } = destination;
  return {
    id,
    isSigned: secrets !== undefined,
    webhook: webhooks[0] ?? {},
    ...defined({
      request,
      signature,
    }),
  };
}

function drafted(body: unknown, fields: unknown, expressions: RequestExpressions): Target {
  const errors = expressionErrors(fields, expressions, ['destination']);
  const { destination } = parseBody(draft, body, errors);
  const request = storedRequest(destination.request);
  const { signature, webhooks, sharedSecret } = destination;
  return {
    id: PREVIEW,
    isSigned: sharedSecret !== undefined,
    webhook: webhooks?.[0] ?? {},
    ...defined({
      request,
      signature,
    }),
  };
}

/** Fills in the fields that every message has. */
function given({ now }: RequestPreviewDeps, fields: object = {}): Message {
  const sample = sampleMessage({}, { messageId: PREVIEW, now: now() });
  const { event: _, properties: __, userId: ___, context: ____, ...base } = sample;
  const whole = Object.keys(fields).length === 0 ? sample : { ...base, ...fields };
  const message = parseMessage(Buffer.from(stringifyJson(whole)));
  if (typeof message !== 'string') return message;
  throw wrong('message', `is not a message: ${message}`);
}

function recent({ events }: RequestPreviewDeps, id: string): { source: string; message: Message } {
  const entry = events.ring.find(id);
  const message = entry?.accepted ? parseMessage(entry.value) : undefined;
  if (entry && message && typeof message !== 'string') return { source: entry.source, message };
  throw wrong('event', 'is not the id of a recent accepted event');
}

/** Returns the request to the first URL as delivery would send it. */
function view(target: Target, { body, head }: Rendered, id: string) {
  const { request, signature, webhook, isSigned } = target;
  const headers: Record<string, string> = { 'webhook-id': id, 'webhook-timestamp': MASKED };
  if (isSigned) {
    if (signature?.xSignature !== false) headers['x-signature'] = MASKED;
    headers['webhook-signature'] = MASKED;
    if (signature?.custom) headers[signature.custom.header.toLowerCase()] = MASKED;
  } else if (signature?.ed25519) headers['webhook-signature'] = MASKED;
  setAll(headers, addOwnHeaders([], { traceparent: MASKED, rendered: head, endpoint: {} }));
  for (const name of headerNames(webhook)) if (name !== undefined) headers[name] = MASKED;
  const rendered = head.headers ?? [];
  setAll(headers, rendered);
  const { gzipAbove } = request ?? {};
  if (gzipAbove !== undefined && body.length > gzipAbove) headers[CONTENT_ENCODING] = 'gzip';
  return { method: head.method ?? ('POST' as const), headers, body: bodyText(body, webhook) };
}

/** @param list alternating names and values */
function setAll(headers: Record<string, string>, list: readonly string[]): void {
  for (let i = 0; i + 1 < list.length; i += 2) {
    headers[(list[i] ?? '').toLowerCase()] = list[i + 1] ?? '';
  }
}

/** Delivery writes the routing key of PagerDuty as the first member. */
function bodyText(body: Buffer, { auth }: Target['webhook']): string {
  const text = body.toString();
  if (auth?.type !== 'pagerduty' || !text.startsWith('{')) return text;
  return `{"routing_key":"${MASKED}"${text === '{}' ? '' : ','}${text.slice(1)}`;
}
