import ipaddr from 'ipaddr.js';

/**
 * Decides which addresses a webhook may reach. Customers choose the URLs; without this guard,
 * anybody could make Waypost call its own network. The guard checks every address when a connection
 * is made, literal addresses included.
 *
 * Only publicly routed addresses are allowed. The ranges are from ipaddr.js, narrowed where it is
 * generous. An IPv6 address that carries an IPv4 address is judged by that:
 *
 * - mapped, ::ffff:a.b.c.d: as a.b.c.d, since a socket makes the same connection of it;
 * - NAT64, 64:ff9b::a.b.c.d: as a.b.c.d, since IPv6-only networks reach public hosts this way;
 * - NAT64, 64:ff9b:1::/48: refused, since only that network knows where the IPv4 address is in it;
 * - compatible, ::a.b.c.d: refused, out of use;
 * - 6to4, Teredo: refused, out of use, and a way around firewalls.
 *
 * A metadata service is refused in any of these forms, also within a network that is allowed.
 */
type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = [Address, number];

/** @returns undefined if the address may be reached, else the reason in a word or two */
export type AddressGuard = (address: string) => string | undefined;

/**
 * Addresses on which clouds serve credentials to their machines, with the vendor's page that names
 * them. Several are in ranges that are refused anyway, but a setting may open such a range.
 */
export const METADATA_ADDRESSES = [
  // Amazon EC2, Azure, Google, Oracle, IBM, Akamai, every OpenStack, and most others:
  // https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html
  // https://learn.microsoft.com/azure/virtual-machines/instance-metadata-service
  // https://docs.oracle.com/en-us/iaas/Content/Compute/Tasks/gettingmetadata.htm
  // https://cloud.ibm.com/apidocs/vpc-identity
  '169.254.169.254',
  // Amazon EC2 over IPv6, on the same page.
  'fd00:ec2::254',
  // Amazon ECS: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-iam-roles.html
  '169.254.170.2',
  // Amazon EKS: https://docs.aws.amazon.com/eks/latest/userguide/pod-id-how-it-works.html
  '169.254.170.23',
  'fd00:ec2::23',
  // Azure: https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16
  '168.63.129.16',
  // Google over IPv6: https://cloud.google.com/compute/docs/metadata/querying-metadata
  'fd20:ce::254',
  // Google GKE: https://cloud.google.com/kubernetes-engine/docs/concepts/workload-identity
  '169.254.169.252',
  // Oracle over IPv6, in its SDK: https://github.com/oracle/oci-python-sdk/blob/master/src/oci/auth/signers/instance_principals_security_token_signer.py
  'fd00:c1::a9fe:a9fe',
  // Oracle Cloud at Customer: https://docs.oracle.com/en/cloud/cloud-at-customer/occ-get-started/retrieve-predefined-instance-metadata.html
  '192.0.0.192',
  // Akamai over IPv6: https://techdocs.akamai.com/cloud-computing/docs/metadata-service-api
  'fd00:a9fe:a9fe::1',
  // OpenStack over IPv6: https://docs.openstack.org/nova/latest/user/metadata.html
  'fe80::a9fe:a9fe',
  // Scaleway: https://www.scaleway.com/en/developers/api/instance/user-data
  '169.254.42.42',
  'fd00:42::42',
  // Alibaba: https://www.alibabacloud.com/help/en/ecs/user-guide/view-instance-metadata
  '100.100.100.200',
  // Alibaba over IPv6, in cloud-init: https://github.com/canonical/cloud-init/blob/main/cloudinit/sources/DataSourceAliYun.py
  'fd00:100::100:200',
  // Tencent: https://www.tencentcloud.com/document/product/213/4934
  '169.254.0.23',
] as const;

const METADATA: readonly Network[] = METADATA_ADDRESSES.map(exactly);

/** The reason for an address in a forbidden network. */
export const FORBIDDEN = 'forbidden by WAYPOST_FORBIDDEN_NETWORKS';

/**
 * All address space assigned to public networks (IANA). ipaddr.js calls unassigned space outside of
 * it unicast too.
 */
const GLOBAL_UNICAST: Network = ipaddr.parseCIDR('2000::/3');
const NAT64: Network = ipaddr.parseCIDR('64:ff9b::/96');

/**
 * @param allowedNetworks CIDRs that may be reached although private; an IPv4 network also allows
 * its mapped and NAT64 forms. A metadata service must be named by its exact address, since a wide
 * network is rarely meant to contain it
 * @param forbiddenNetworks CIDRs that may not be reached, even if public or allowed
 * @throws Error for an invalid CIDR (settings are validated before)
 */
export function createAddressGuard(
  allowedNetworks: readonly string[],
  forbiddenNetworks: readonly string[] = [],
): AddressGuard {
  const allowed = allowedNetworks.map((cidr): Network => ipaddr.parseCIDR(cidr));
  const exact = allowed.filter(
    ([network, bits]) => bits === (network.kind() === 'ipv4' ? 32 : 128),
  );
  const forbidden = forbiddenNetworks.map((cidr): Network => ipaddr.parseCIDR(cidr));
  return (text) => {
    const address = parse(text);
    if (address === undefined) return 'not an address';
    const target = embeddedIPv4(address) ?? address;
    const isInSome = (networks: readonly Network[]) =>
      networks.some((network) => isIn(address, network) || isIn(target, network));
    if (isInSome(forbidden)) return FORBIDDEN;
    if (isInSome(isMetadata(target) || hidesMetadata(address) ? exact : allowed)) return undefined;
    return hidesMetadata(address) ? METADATA_SERVICE : refusal(target);
  };
}

/**
 * Returns the address that a host name spells out, or undefined for a real name, which must be
 * resolved first.
 * @param hostname of a WHATWG URL, which has already turned `127.1`, `0x7f000001` and the like into
 *   `127.0.0.1`
 */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  return parse(bare)?.toString();
}

function parse(text: string): Address | undefined {
  // ipaddr.js reads `::8.8.8.8` as mapped, unlike a socket. With a leading zero it reads it
  // correctly.
  const exact = text.replace(/^::(?=\d+\.)/, '0::');
  return ipaddr.isValid(exact) ? ipaddr.parse(exact) : undefined;
}

/** Returns the network of one address. */
function exactly(text: string): Network {
  const address = ipaddr.parse(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

/** Compares the bits alone: a zone, as in `fe80::1%eth0`, does not make another address. */
function isMetadata(address: Address): boolean {
  return METADATA.some((network) => isIn(address, network));
}

const METADATA_SERVICE = 'metadata service';

/**
 * Returns whether an IPv6 address of any form contains the IPv4 address of a metadata service: at
 * its end, or behind the prefix of 6to4.
 */
function hidesMetadata(address: Address): boolean {
  if (!(address instanceof ipaddr.IPv6)) return false;
  const bytes = address.toByteArray();
  const is6to4 = bytes[0] === 0x20 && bytes[1] === 0x02;
  // Any machine may have an address that ends so by chance.
  if (isIn(address, GLOBAL_UNICAST) && !is6to4) return false;
  return [bytes.slice(12), ...(is6to4 ? [bytes.slice(2, 6)] : [])].some((four) =>
    isMetadata(new ipaddr.IPv4(four)),
  );
}

function refusal(address: Address): string | undefined {
  if (isMetadata(address)) return METADATA_SERVICE;
  const range = address.range();
  // linkLocal → link-local
  if (range !== 'unicast') return range.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return address.kind() === 'ipv4' || isIn(address, GLOBAL_UNICAST) ? undefined : 'reserved';
}

/** Returns the IPv4 address that a connection to this IPv6 address ends at. */
function embeddedIPv4(address: Address): ipaddr.IPv4 | undefined {
  if (!(address instanceof ipaddr.IPv6)) return undefined;
  if (address.isIPv4MappedAddress()) return address.toIPv4Address();
  return isIn(address, NAT64) ? new ipaddr.IPv4(address.toByteArray().slice(12)) : undefined;
}

function isIn(address: Address, [network, bits]: Network): boolean {
  // `match` throws if the kinds differ.
  return address.kind() === network.kind() && address.match(network, bits);
}
