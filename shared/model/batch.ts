/**
 * Several deliveries of one URL as one POST: a JSON array of the bodies that single POSTs would
 * have carried.
 */

export interface BatchSettings {
  maxEvents: number;
  /** of the whole array; a larger event is sent alone */
  maxBytes: number;
  /** longest wait of the first event */
  maxWaitMs: number;
}

/** The place of a delivery in the batch that it was sent in. */
export interface BatchPlace {
  /** the batch's `webhook-id` */
  id: string;
  /** number of deliveries in the batch */
  size: number;
  /** position in the array, from 0 */
  index: number;
  /** id of the first delivery in the array, with which the response to the batch is stored */
  first: string;
}

/** Lists the ids of a batch's deliveries, in the order of the array, separated by commas. */
export const DELIVERIES_HEADER = 'waypost-deliveries';

const JSON_TYPE = /^application\/(?:cloudevents\+)?json\b/i;

/**
 * Returns whether a body of this content type can be an element of the array. @param contentType
 * absent: JSON
 */
export function fitsInBatch(contentType: string | undefined): boolean {
  return contentType === undefined || JSON_TYPE.test(contentType);
}

/**
 * Returns the content type of an array of such bodies. CloudEvents name a batch of theirs (HTTP
 * binding, section 3.3).
 */
export function batchContentType(contentType: string | undefined): string | undefined {
  return contentType?.replace(
    /^application\/cloudevents\+json/i,
    'application/cloudevents-batch+json',
  );
}
