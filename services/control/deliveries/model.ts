import { type Query } from '../../../shared/api/operations';
import { DELIVERIES_HEADER } from '../../../shared/model/batch';
import { type Destination } from '../../../shared/model/config';
import { isUnderWay } from '../../../shared/model/reasons';
import { FIXED_HEADERS, isOwnHeader, OWN_HEADERS, SIGNATURE_HEADERS } from '../../../shared/model/webhook-request';
import { type DeliveryRow, type Try } from '../history/delivery-row';
import { type Filter } from '../history/queries';

/** Filters of deliveries and their API views. Pure. */

export function filterOf(query: Query<'GET /deliveries'>): Filter {
  const { destination, source, status, message, user, type, since, until } = query;
  return { destination, source, status, message, user, type, since, until };
}

const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

/** Returns the view in a list, without bodies, which may be megabytes. */
export function deliveryView(row: DeliveryRow) {
  return {
    id: row.id,
    messageId: row.message,
    source: row.source,
    destination: row.destination,
    type: row.type,
    userId: row.userId,
    status: row.status,
    reason: row.reason,
    acceptedAt: new Date(row.acceptedAt).toISOString(),
    expiresAt: new Date(row.expiresAt).toISOString(),
    nextAttemptAt: iso(row.nextAt),
    settledAt: iso(row.settledAt),
    replay: Math.max(0, row.replay),
    attemptsMade: row.made,
    test: row.test,
    attempts: row.tries.map((each) => attemptView(each, ({ response, ...url }) => url)),
  };
}

/** Data for each URL in addition to its id and origin. */
export interface WebhookAddresses {
  /** whole URLs by webhook id; empty for actors without access to them */
  urls: ReadonlyMap<string, string>;
  destination: Destination | undefined;
}

/** Returns the full view. `body` is added by the caller that can read it. */
export function deliveryDetail(row: DeliveryRow, { urls, destination }: WebhookAddresses) {
  const request = requestHeaders(row, destination);
  return {
    ...deliveryView(row),
    budget: {
      attemptsMade: row.made,
      nextAttemptAt: iso(row.nextAt),
      expiresAt: new Date(row.expiresAt).toISOString(),
      waitsFor: isUnderWay(row.status) ? row.reason : null,
    },
    attempts: row.tries.map((each) =>
      attemptView(each, (url) => ({
        ...url,
        address: urls.get(url.url) ?? null,
        request: request(url.url),
      })),
    ),
  };
}

function attemptView<T>({ n, replay, at, durationMs, outcome, urls }: Try, view: (url: Try['urls'][number]) => T) {
  return { n, replay, at, durationMs, outcome, urls: urls.map(view) };
}

const MASKED = '***';

/**
 * Returns the headers of a request by the destination's current settings. Secrets and values of the moment are masked.
 */
function requestHeaders(row: DeliveryRow, destination: Destination | undefined) {
  const absent: readonly string[] = [DELIVERIES_HEADER, ...(destination?.secrets ? [] : SIGNATURE_HEADERS)];
  const names = OWN_HEADERS.filter((name) => !absent.includes(name));
  const known = { ...fromEntries(names.map((name) => [name, MASKED])), ...FIXED_HEADERS, 'webhook-id': row.id };
  return (webhookId: string) => {
    const webhook = destination?.webhooks.find(({ id }) => id === webhookId);
    const names = Object.keys(webhook?.headers ?? {}).filter((name) => !isOwnHeader(name));
    const own = fromEntries(names.map((name) => [name.toLowerCase(), MASKED]));
    return {
      rebuilt: true as const,
      headers: { ...known, ...own },
    };
  };
}

function fromEntries(entries: string[][]): Record<string, string> {
  return Object.fromEntries(entries) as Record<string, string>;
}
