import ipaddr from 'ipaddr.js';

/**
 * Which addresses a webhook may reach. A customer chooses the URL, so that without this guard anybody could make us
 * call our own network. It is asked with every address at the moment of connecting, and for literal addresses too.
 *
 * Allowed is only what is routed publicly; the ranges are ipaddr.js', narrowed where it is generous. An IPv6 address
 * that carries an IPv4 one is judged by that:
 *
 * | form                              | judged                                                                |
 * | --------------------------------- | --------------------------------------------------------------------- |
 * | mapped, ::ffff:a.b.c.d            | as a.b.c.d: a socket makes the same connection of it                  |
 * | NAT64, 64:ff9b::a.b.c.d           | as a.b.c.d: on an IPv6-only network public hosts are reached so       |
 * | NAT64, 64:ff9b:1::/48             | refused: where in it the IPv4 address stands is the network's secret  |
 * | compatible, ::a.b.c.d             | refused: out of use                                                   |
 * | 6to4, Teredo                      | refused: out of use, and a way around firewalls                       |
 */
type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = [Address, number];

/** @returns undefined where the address may be reached, else a word or two that say why not */
export type AddressGuard = (address: string) => string | undefined;

/** What clouds answer credentials on. Some lie in ranges that are refused anyway, 168.63.129.16 (Azure) does not. */
const METADATA: ReadonlySet<string> = new Set([
  '169.254.169.254',
  '169.254.170.2',
  '100.100.100.200',
  '168.63.129.16',
  'fd00:ec2::254',
]);

/** All that is handed out to public networks (IANA); ipaddr.js calls unassigned space outside of it unicast too. */
const GLOBAL_UNICAST: Network = ipaddr.parseCIDR('2000::/3');
const NAT64: Network = ipaddr.parseCIDR('64:ff9b::/96');

/**
 * @param allowedNetworks CIDRs that may be reached although private; an IPv4 network allows its mapped and NAT64
 *   forms as well
 * @throws Error for what is no CIDR (settings are checked before)
 */
export function createAddressGuard(allowedNetworks: readonly string[]): AddressGuard {
  const allowed = allowedNetworks.map((cidr): Network => ipaddr.parseCIDR(cidr));
  return (text) => {
    const address = parse(text);
    if (address === undefined) return 'not an address';
    const target = embeddedIPv4(address) ?? address;
    if (allowed.some((network) => isIn(address, network) || isIn(target, network))) return undefined;
    return refusal(target);
  };
}

/**
 * The address that a host name spells out, or undefined for a real name, which is to be resolved first.
 * @param hostname of a WHATWG URL, which has made `127.1`, `0x7f000001` and the like into `127.0.0.1` already
 */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  return parse(bare)?.toString();
}

function parse(text: string): Address | undefined {
  // ipaddr.js reads `::8.8.8.8` as mapped, which a socket does not; with a zero before it it reads it right.
  const exact = text.replace(/^::(?=\d+\.)/, '0::');
  return ipaddr.isValid(exact) ? ipaddr.parse(exact) : undefined;
}

function refusal(address: Address): string | undefined {
  if (METADATA.has(address.toString())) return 'metadata service';
  const range = address.range();
  // linkLocal → link-local
  if (range !== 'unicast') return range.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return address.kind() === 'ipv4' || isIn(address, GLOBAL_UNICAST) ? undefined : 'reserved';
}

/** The IPv4 address that a connection to this IPv6 address ends at. */
function embeddedIPv4(address: Address): ipaddr.IPv4 | undefined {
  if (!(address instanceof ipaddr.IPv6)) return undefined;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  return isIn(address, NAT64) ? new ipaddr.IPv4(address.toByteArray().slice(12)) : undefined;
}

function isIn(address: Address, [network, bits]: Network): boolean {
  // match throws where the kinds differ.
  return address.kind() === network.kind() && address.match(network, bits);
}
