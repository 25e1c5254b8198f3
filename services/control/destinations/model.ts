import { type z } from 'zod';
import { batchToView } from '../../../shared/api/batch';
import { destinationBody } from '../../../shared/api/destinations';
import { secretChangeProblem } from '../../../shared/api/webhooks';
import { defined } from '../../../shared/collections/defined';
import { type Encryptor } from '../../../shared/config/encryption';
import { type Entry } from '../../../shared/config/types';
import { type Destination } from '../../../shared/model/config';
import { type OwnName } from '../../../shared/model/destination-fields';
import { isJsonObject, type Json, type JsonObject } from '../../../shared/model/message';
import { secretFields } from '../../../shared/model/secret-fields';
import { type TopicRetention } from '../../../shared/runtime/retention';
import { expressionErrors, type RequestExpressions } from '../expressions/request-expressions';
import { mergePatch } from '../http/entry-patch';
import { errorAt, type FieldError, quoted } from '../http/problem';
import { fieldsOf, has, parseBody } from '../http/validate';
import {
  changesProxy,
  planFields,
  planOf,
  planView,
  proxyErrors,
  proxyView,
  retryErrors,
  sealProxy,
} from './delivery-options';
import { patchablePlain, storedPlain, viewPlain } from './plain-fields';
import { bodyClashes, headerClashes, requestView, storedRequest } from './request';
import { secretsNow, secretsView } from './rotation';
import { sealSignature, signatureErrors, signatureFields, signatureView } from './signature';
import { openWebhooks } from './stored-webhook';
import { batchErrors } from './batch';
import { proxyChangeErrors, sealWebhooks, webhookErrors, webhookViews } from './webhooks';

/**
 * Validates changes of a destination, and builds its API view, which never contains a secret or the
 * value of a header. Pure except for the randomness of encryption; ids and the time are arguments.
 */

export interface Making {
  id: string;
  now: Date;
  encryptor: Encryptor;
  newWebhookId: () => string;
  sourceExists: (id: string) => boolean;
  /** WAYPOST_RETRY_DELAYS */
  tiersMs: readonly number[];
  retention: TopicRetention;
  expressions: RequestExpressions;
}

/** Returns the ids of the paused destinations. */
export function pausedIds(entries: readonly Entry<Destination>[]): string[] {
  return entries.flatMap(({ data }) => (data.paused ? [data.id] : []));
}

/** PATCH without `webhooks` leaves the encrypted webhooks unchanged. */
const withoutWebhooks = destinationBody.partial({ webhooks: true });
type Fields = z.output<typeof withoutWebhooks>;

/** @throws Problem `invalid_fields` */
export function createDestination(body: unknown, making: Making): Destination {
  // As in a patch, null means absent.
  const given = mergePatch({}, (body ?? {}) as Json);
  const errors = [
    ...sourceErrors(given, making),
    ...webhookErrors(given, [], making),
    ...signatureErrors(given, {
      isSigned: has(given, 'sharedSecret'),
      webhooks: webhooksIn(given),
    }),
    ...optionErrors(given, { webhooks: webhooksIn(given) }, making),
  ];
  const fields = parseBody(destinationBody, given, errors);
  return assemble(fields, undefined, making);
}

/** @throws Problem `invalid_fields` */
export function patchDestination(before: Destination, patch: Json, making: Making): Destination {
  const merged = mergePatch(patchable(before, making), patch);
  const [setsWebhooks, proxyChanges] = [has(patch, 'webhooks'), changesProxy(merged, before)];
  const webhooks = setsWebhooks ? webhooksIn(merged) : before.webhooks;
  const isSigned =
    has(merged, 'sharedSecret') || (before.secrets !== undefined && !has(patch, 'sharedSecret'));
  const errors = [
    ...sourceErrors(merged, making),
    ...webhookErrors(merged, openWebhooks(before, making.encryptor), {
      now: making.now,
      proxyChanges,
    }),
    ...(proxyChanges && !setsWebhooks ? proxyChangeErrors(before.webhooks) : []),
    ...secretErrors(patch),
    ...signatureErrors(merged, { isSigned, webhooks }),
    ...optionErrors(merged, { ...before, webhooks }, making),
  ];
  const fields = parseBody(setsWebhooks ? destinationBody : withoutWebhooks, merged, errors);
  const after = assemble(fields, before, making);
  if (has(patch, 'sharedSecret') && fields.sharedSecret === undefined) delete after.secrets;
  return after;
}

/**
 * Returns the object that a patch merges into. It omits webhooks, since lists do not merge, and the
 * secret, which is not readable.
 */
function patchable(destination: Destination, { sourceExists }: Making): JsonObject {
  const { name, type, sources, request, batch, retry, proxy, signature } = destination;
  const own = {
    name,
    type,
    sources: sources.filter(sourceExists),
    request: request && { ...request },
    batch: batch && batchToView(batch),
    retry: planFields(retry),
    proxy: proxyView(proxy) ?? undefined,
    signature: signatureFields(signature),
  } satisfies Record<Exclude<OwnName, 'webhooks' | 'sharedSecret'>, unknown>;
  return { ...defined(own), ...patchablePlain(destination) };
}

/**
 * Returns the errors in the expressions, the request, the retry plan and the proxy that the schema
 * does not find.
 */
function optionErrors(
  body: Json,
  { webhooks, ...before }: Pick<Destination, 'proxy'> & { webhooks: readonly object[] },
  { tiersMs, retention, expressions }: Making,
): FieldError[] {
  return [
    ...expressionErrors(body, expressions),
    ...headerClashes(body, webhooks),
    ...retryErrors(body, { tiersMs, retention }),
    ...proxyErrors(body, before),
    ...batchErrors(body, webhooks, expressions),
    ...bodyClashes(body, webhooks, expressions),
  ];
}

function webhooksIn(body: Json): JsonObject[] {
  const { webhooks } = fieldsOf(body);
  return Array.isArray(webhooks) ? webhooks.filter(isJsonObject) : [];
}

function assemble(fields: Fields, before: Destination | undefined, making: Making): Destination {
  const { id, now, encryptor } = making;
  const at = now.toISOString();
  const { batch, signature } = fields;
  const request = storedRequest(fields.request);
  const secrets =
    fields.sharedSecret === undefined
      ? secretsNow(before?.secrets, now)
      : { current: encryptor.encrypt(fields.sharedSecret, secretFields.sharedSecret(id)) };
  const stored = before ? openWebhooks(before, encryptor) : [];
  const sealing = { ownerId: id, encryptor, newId: making.newWebhookId };
  const retry = planOf(fields.retry);
  const proxy = sealProxy(fields.proxy, before?.proxy, sealing);
  const encrypt = (key: string) => encryptor.encrypt(key, secretFields.ed25519(id));
  return {
    id,
    name: fields.name,
    type: fields.type,
    sources: [...new Set(fields.sources)],
    webhooks: fields.webhooks
      ? sealWebhooks(fields.webhooks, stored, sealing)
      : (before?.webhooks ?? []),
    ...defined({
      secrets,
      signature: signature
        ? sealSignature(signature, before?.signature, { now, encrypt })
        : undefined,
      request,
      batch: batch
        ? { maxEvents: batch.maxEvents, maxBytes: batch.maxBytes, maxWaitMs: batch.maxWait }
        : undefined,
      retry,
      proxy,
      switchedOff: fields.enabled ? undefined : before?.switchedOff,
    }),
    ...storedPlain(fields),
    createdAt: before?.createdAt ?? at,
    updatedAt: at,
  };
}

/** Also for alerts. */
export function secretErrors(patch: Json): FieldError[] {
  const { sharedSecret } = fieldsOf(patch);
  const problem = sharedSecret === undefined ? undefined : secretChangeProblem(sharedSecret);
  return problem === undefined ? [] : [errorAt(['sharedSecret'], problem)];
}

function sourceErrors(body: Json, { sourceExists }: Making): FieldError[] {
  const { sources } = fieldsOf(body);
  if (!Array.isArray(sources)) return [];
  return sources.flatMap((id, i) =>
    typeof id === 'string' && !sourceExists(id)
      ? [errorAt(['sources', i], `unknown source ${quoted(id)}`)]
      : [],
  );
}

/**
 * Returns the API view. An administrator can send the webhooks back in a PATCH as they are here.
 * Others see only the origin of a URL, since paths and queries may contain tokens.
 */
export function destinationView(
  { version, data }: Entry<Destination>,
  {
    encryptor,
    sourceExists,
    now,
    tiersMs,
  }: Pick<Making, 'encryptor' | 'sourceExists' | 'now' | 'tiersMs'>,
  seesSecrets: boolean,
) {
  return {
    id: data.id,
    name: data.name,
    type: data.type,
    // A deleted source stays in its destinations. It is left out here, and removed with the next
    // change.
    sources: data.sources.filter(sourceExists),
    webhooks: webhookViews(data, encryptor, seesSecrets),
    ...secretsView(data.secrets, now),
    signature: signatureView(data.signature),
    request: requestView(data.request),
    batch: data.batch ? batchToView(data.batch) : null,
    retry: planView(data.retry, tiersMs),
    proxy: proxyView(data.proxy),
    ...viewPlain(data),
    version,
    createdAt: data.createdAt,
    updatedAt: data.updatedAt,
  };
}
