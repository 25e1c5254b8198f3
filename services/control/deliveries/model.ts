import { type Query } from '../../../shared/api/operations';
import { defined } from '../../../shared/collections/defined';
import { type StoredResponse } from '../../../shared/model/stored-response';
import { cutEventName } from '../../../shared/model/message';
import { isUnderWay } from '../../../shared/model/reasons';
import { isoTime, isoTimeOrNull } from '../../../shared/model/time';
import { type DeliveryRow } from '../history/delivery-row';
import { type Filter, standing } from '../history/filter';
import { lastOf, lastReplay, type TriedUrl, type Try } from '../history/tries';
import { type CalledUrl } from './called-url';
import { type AtDestination, goesOnOf, type Now } from './goes-on';

/** Filters of deliveries and their API views. Pure. */

/** @param paused ids of the paused destinations */
export function filterOf(query: Query<'GET /deliveries'>, paused: readonly string[]): Filter {
  const { limit: _limit, after: _after, total: _total, q: _q, event, ...filter } = query;
  return { ...filter, paused, event: event === undefined ? undefined : cutEventName(event) };
}

/** The present, which a row of the history does not know. */
export interface Present extends Now {
  at: (destination: string) => AtDestination;
}

/** Returns the view in a list, without body and responses. */
export function deliveryView(row: DeliveryRow, present: Present) {
  const last = lastOf(row);
  const at = present.at(row.destination);
  const goesOn = goesOnOf(row, at, present);
  return {
    id: row.id,
    messageId: row.message,
    source: row.source,
    destination: row.destination,
    destinationName: at.name,
    type: row.type,
    event: row.event,
    userId: row.userId,
    ...standing(row, at.isPaused),
    lastStatusCode: last.status,
    lastError: last.error,
    acceptedAt: isoTime(row.acceptedAt),
    expiresAt: isoTime(row.expiresAt),
    nextAttemptAt: goesOn?.when === 'at' ? goesOn.at : null,
    goesOn,
    settledAt: isoTimeOrNull(row.settledAt),
    replay: lastReplay(row),
    attemptsMade: row.made,
    test: row.test,
    attempts: row.tries.map((each) => attemptView(each, ({ response, stored, ...url }) => url)),
  };
}

/** Returns the full view. `body` is added by the caller that can read it. */
export function deliveryDetail(
  row: DeliveryRow,
  present: Present,
  { called, responses }: { called: CalledUrl; responses: ReadonlyMap<TriedUrl, StoredResponse> },
) {
  const view = deliveryView(row, present);
  return {
    ...view,
    budget: {
      attemptsMade: row.made,
      nextAttemptAt: view.nextAttemptAt,
      expiresAt: view.expiresAt,
      waitsFor: isUnderWay(view.status) ? view.reason : null,
    },
    attempts: row.tries.map((each) =>
      attemptView(each, (tried) => {
        const { response: _response, stored, ...url } = tried;
        const response = responses.get(tried);
        return { ...url, ...defined({ response }), ...called(url, each.replay) };
      }),
    ),
  };
}

function attemptView<T>(
  { n, replay, at, durationMs, outcome, notCalled, withheld, urls }: Try,
  view: (url: TriedUrl) => T,
) {
  return {
    n,
    replay,
    at,
    durationMs,
    outcome,
    ...defined({
      notCalled,
      withheld,
    }),
    urls: urls.map(view),
  };
}
