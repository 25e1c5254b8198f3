import { createAddressGuard, literalAddress } from './address-guard';

/** Warns of URLs that delivery refuses by default. Delivery learns the address behind a name only when it calls it. */

/** Without any allowed network, as Waypost is installed. */
const guard = createAddressGuard([]);

/** Names that always mean this machine or a private network (RFC 6761, RFC 6762, and the private use of ICANN). */
const PRIVATE_NAME = /(^|\.)(localhost|local|internal)\.?$/i;

/** @returns the private address of a URL, and the word for its kind; undefined if it has none */
export function privateAddress(url: string): { host: string; why: string } | undefined {
  if (!URL.canParse(url)) return undefined;
  const { hostname } = new URL(url);
  const literal = literalAddress(hostname);
  const why = literal === undefined ? (PRIVATE_NAME.test(hostname) ? 'private name' : undefined) : guard(literal);
  return why === undefined ? undefined : { host: literal ?? hostname, why };
}

/** @returns a sentence that names the setting, or undefined if the URL has no private address */
export function addressWarning(url: string): string | undefined {
  const address = privateAddress(url);
  if (address === undefined) return undefined;
  return `${address.host} is not a public address (${address.why}). Waypost refuses to call it unless the setting WAYPOST_ALLOWED_NETWORKS allows its network.`;
}
