import { RecentMap } from '../../../shared/collections/recent-map';
import { type Endpoint } from './endpoint';

/**
 * Time for which this process remembers what a receiver said, ms. Control writes it to the
 * configuration much sooner.
 */
const KEPT_MS = 86_400_000;

/**
 * The URLs that nothing more is sent to: the ones that the configuration has switched off, and
 * those whose receivers have said so to this process, which stops at once and without control.
 * Control writes what they said to the configuration later (docs/guide/receiving.md).
 *
 * A URL is on again once it has another address, or was switched on since: its key differs then.
 */
export class DisabledUrls {
  readonly #keys = new RecentMap<string, true>(KEPT_MS);

  /** Returns whether nothing may be sent to a URL. */
  readonly has = (endpoint: Endpoint): boolean =>
    isDisabled(endpoint) || (this.#keys.size > 0 && this.#keys.has(keyOf(endpoint)));

  /**
   * The receiver of a URL wants nothing more.
   * @param nowMs by a clock that never goes back
   * @returns false if this process knew that
   */
  add(endpoint: Endpoint, nowMs: number): boolean {
    if (this.has(endpoint)) return false;
    this.#keys.set(keyOf(endpoint), true, nowMs);
    return true;
  }
}

/** Returns whether the configuration has switched a URL off. */
export function isDisabled({ disabled }: Endpoint): boolean {
  return disabled === true;
}

function keyOf({ lane, id, enables = 0 }: Endpoint): string {
  return `${lane}/${id}/${String(enables)}`;
}
