import { type StoredResponse } from '../../../shared/model/stored-response';
import { type Database } from '../history/database';
import { type DeliveryRow } from '../history/delivery-row';
import { getDeliveries, getResponses, type ResponseKey } from '../history/queries';
import { MOST_RESPONSE_BYTES } from '../history/responses';
import { type TriedUrl } from '../history/tries';

/**
 * Reads the responses of one delivery, the newest within the limit of a delivery. The response to a
 * batch is stored with its first delivery.
 * @returns by the request in the row; those that are not stored are missing
 */
export async function readResponses(
  database: Database,
  row: DeliveryRow,
): Promise<ReadonlyMap<TriedUrl, StoredResponse>> {
  const ids = new Set(requestsOf(row).flatMap((url) => sharedWith(url) ?? []));
  const firsts = new Map(
    (await getDeliveries(database, [...ids])).map((first) => [first.id, first]),
  );
  const found = new Map<TriedUrl, StoredResponse>();
  const places = new Map<TriedUrl, ResponseKey>();
  let left = MOST_RESPONSE_BYTES;
  for (const url of requestsOf(row).reverse()) {
    const [holder, { response, stored } = {}] = holderOf(url, row, firsts);
    if (response) found.set(url, response);
    if (!holder || !stored) continue;
    left -= stored.bytes;
    if (left < 0) break;
    places.set(url, { acceptedAt: holder.acceptedAt, delivery: holder.id, seq: stored.seq });
  }
  const read = await getResponses(database, [...places.values()]);
  for (const [url, { delivery, seq }] of places) {
    const response = read.get(`${delivery}/${String(seq)}`);
    if (response) found.set(url, response);
  }
  return found;
}

function requestsOf({ tries }: DeliveryRow): TriedUrl[] {
  return tries.flatMap(({ urls }) => urls);
}

/** Returns the id of the delivery that has the response to this request; undefined: its own. */
function sharedWith({ batch }: TriedUrl): string | undefined {
  return batch && batch.index > 0 ? batch.first : undefined;
}

function holderOf(
  url: TriedUrl,
  row: DeliveryRow,
  firsts: ReadonlyMap<string, DeliveryRow>,
): [holder?: DeliveryRow, request?: TriedUrl | undefined] {
  const id = sharedWith(url);
  if (id === undefined) return [row, url];
  const holder = firsts.get(id);
  return holder
    ? [holder, requestsOf(holder).find(({ batch }) => batch?.id === url.batch?.id)]
    : [];
}
