import { type Endpoint } from './endpoint';

/**
 * The URLs that nothing more is sent to: the ones that the configuration has switched off, and
 * those whose receivers have said so to this process, which stops at once and without control.
 * Control writes what they said to the configuration later (docs/guide/receiving.md).
 *
 * A URL is on again once it has another address, or was switched on since: its key differs then.
 */
export class DisabledUrls {
  readonly #keys = new Set<string>();

  /** Returns whether nothing may be sent to a URL. */
  readonly has = (endpoint: Endpoint): boolean =>
    isDisabled(endpoint) || (this.#keys.size > 0 && this.#keys.has(keyOf(endpoint)));

  /** The receiver of a URL wants nothing more. @returns false if this process knew that */
  add(endpoint: Endpoint): boolean {
    if (this.has(endpoint)) return false;
    this.#keys.add(keyOf(endpoint));
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
