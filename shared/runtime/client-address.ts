import ipaddr from 'ipaddr.js';

/**
 * Determines the address of a client, for limits and logs. Anybody can write `X-Forwarded-For`, so
 * it counts only if the connection comes from a proxy that the operator trusts
 * (`WAYPOST_TRUSTED_PROXIES`).
 */

/**
 * @param peer remote address of the socket; undefined once the socket is closed
 * @param forwardedFor the header `X-Forwarded-For`
 */
export type ClientAddress = (peer: string | undefined, forwardedFor: string | undefined) => string;

/** Stands for the address of a closed socket, which has none. */
const UNKNOWN = 'unknown';

/** @param trustedProxies CIDRs. @throws Error for an invalid CIDR (settings are checked before) */
export function createClientAddress(trustedProxies: readonly string[]): ClientAddress {
  const networks = trustedProxies.map((cidr) => ipaddr.parseCIDR(cidr));
  const trusts = (text: string) => {
    const address = ipaddr.process(text);
    return networks.some(
      ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
    );
  };
  return (peer, forwardedFor) => {
    if (peer === undefined || peer === '') return UNKNOWN;
    let client = plain(peer);
    if (
      networks.length === 0 ||
      forwardedFor === undefined ||
      !ipaddr.isValid(client) ||
      !trusts(client)
    ) {
      return client;
    }
    for (const entry of forwardedFor.split(',').reverse()) {
      const address = withoutPort(entry.trim());
      // The proxy that wrote something else ("unknown") is the last known address.
      if (!ipaddr.isValid(address)) break;
      client = plain(address);
      if (!trusts(client)) break;
    }
    return client;
  };
}

/**
 * Returns the key by which addresses are limited: an IPv4 address, or the /64 of an IPv6 address,
 * since a provider's customer has at least all addresses of a /64.
 */
export function addressKey(text: string): string {
  const address = plain(text);
  if (!address.includes(':') || !ipaddr.isValid(address)) return address;
  const parsed = ipaddr.parse(address);
  if (!(parsed instanceof ipaddr.IPv6)) return address;
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}

/** Writes an IPv4 address that came over an IPv6 socket as IPv4. */
function plain(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}

/** Removes the port that some proxies write: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(entry);
  if (bracketed) return bracketed[1] ?? '';
  return /^[\d.]+:\d+$/.test(entry) ? entry.slice(0, entry.indexOf(':')) : entry;
}
