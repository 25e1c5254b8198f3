import { type Delivery } from '../../../shared/api/operations';

/** How often a page checks what became of an event. Pure. */

const OFTEN_MS = 2_000;
const SELDOM_MS = 10_000;
/** By then most deliveries have ended, and the history has those that exist. */
const SOON_MS = 60_000;

/**
 * Returns when to read the deliveries of a message again.
 * @param destinations those that the message was routed to
 * @param deliveries those that are known; undefined: not read yet
 * @param shownMs for so long somebody has looked
 * @returns ms; false: nothing will change
 */
export function recheckMs(
  destinations: readonly string[],
  deliveries: readonly Pick<Delivery, 'destination' | 'settledAt'>[] | undefined,
  shownMs: number,
): number | false {
  const known = new Set(deliveries?.map(({ destination }) => destination));
  const isOpen = deliveries?.some(({ settledAt }) => settledAt === null);
  const isComing = !destinations.every((destination) => known.has(destination));
  if (shownMs < SOON_MS) return isOpen || isComing ? OFTEN_MS : false;
  // One that is still unknown was dropped, or its history was.
  return isOpen ? SELDOM_MS : false;
}
