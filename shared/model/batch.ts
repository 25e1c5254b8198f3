/** Several deliveries of one URL as one POST: a JSON array of the bodies that single POSTs would have carried. */

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
}

/** Lists the ids of a batch's deliveries, in the order of the array, separated by commas. */
export const DELIVERIES_HEADER = 'waypost-deliveries';
