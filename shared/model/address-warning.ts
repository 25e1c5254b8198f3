import { type AddressGuard, createAddressGuard, FORBIDDEN, literalAddress } from './address-guard';

/**
 * Warns of URLs that delivery will refuse. Delivery learns the address behind a name only when it
 * calls it.
 */

/** The networks of the installation, as the settings name them. */
export interface Networks {
  allowed: string[];
  forbidden: string[];
}

/** As Waypost is installed. */
const DEFAULT: Networks = { allowed: [], forbidden: [] };

/**
 * Names that always mean this machine or a private network (RFC 6761, RFC 6762, and the private use
 * of ICANN).
 */
const LOCAL_NAME = /(^|\.)localhost\.?$/i;
const PRIVATE_NAME = /(^|\.)(local|internal)\.?$/i;

/**
 * Returns the host of a URL that delivery will refuse, and the reason, which names the setting;
 * undefined if it has none. A name of a private network gets no warning if private networks are
 * allowed, since its address is not known.
 */
export function refusedAddress(
  url: string,
  networks: Networks = DEFAULT,
): { host: string; why: string } | undefined {
  if (!URL.canParse(url)) return undefined;
  const { hostname } = new URL(url);
  const literal = literalAddress(hostname);
  const guard = createAddressGuard(networks.allowed, networks.forbidden);
  const why = literal === undefined ? nameRefusal(hostname, guard, networks) : guard(literal);
  if (why === undefined) return undefined;
  return {
    host: literal ?? hostname,
    why: why === FORBIDDEN ? why : `${why}, and not in WAYPOST_ALLOWED_NETWORKS`,
  };
}

function nameRefusal(
  hostname: string,
  guard: AddressGuard,
  { allowed }: Networks,
): string | undefined {
  const isRefused = LOCAL_NAME.test(hostname)
    ? guard('127.0.0.1') !== undefined && guard('::1') !== undefined
    : PRIVATE_NAME.test(hostname) && allowed.length === 0;
  return isRefused ? 'private name' : undefined;
}

/** Returns the warning as a sentence; undefined if the URL needs none. */
export function addressWarning(url: string, networks?: Networks): string | undefined {
  const address = refusedAddress(url, networks);
  if (address === undefined) return undefined;
  return `Waypost refuses to call ${address.host} (${address.why}).`;
}
