import fc from 'fast-check';
import {
  createAddressGuard,
  literalAddress,
  METADATA_ADDRESSES,
} from '../../../shared/model/address-guard';
import { cases } from '../../support/cases';

const guard = createAddressGuard([]);

/** The first and the last address of each range, and a neighbour outside if that is public. */
describe('the address guard', () => {
  test.each([
    // IPv4
    ['0.0.0.0', 'unspecified'],
    ['0.255.255.255', 'unspecified'],
    ['10.0.0.0', 'private'],
    ['10.255.255.255', 'private'],
    ['100.64.0.0', 'carrier-grade-nat'],
    ['100.127.255.255', 'carrier-grade-nat'],
    ['127.0.0.0', 'loopback'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.255', 'loopback'],
    ['169.254.0.0', 'link-local'],
    ['169.254.255.255', 'link-local'],
    ['172.16.0.0', 'private'],
    ['172.31.255.255', 'private'],
    ['192.0.0.0', 'reserved'],
    ['192.0.0.255', 'reserved'],
    ['192.0.2.0', 'reserved'],
    ['192.0.2.255', 'reserved'],
    ['192.31.196.1', 'as112'],
    ['192.52.193.1', 'amt'],
    ['192.88.99.1', 'reserved'],
    ['192.168.0.0', 'private'],
    ['192.168.255.255', 'private'],
    ['192.175.48.1', 'as112'],
    ['198.18.0.0', 'reserved'],
    ['198.19.255.255', 'reserved'],
    ['198.51.100.7', 'reserved'],
    ['203.0.113.7', 'reserved'],
    ['224.0.0.1', 'multicast'],
    ['239.255.255.255', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.254', 'reserved'],
    ['255.255.255.255', 'broadcast'],
    // metadata services
    ['169.254.169.254', 'metadata service'],
    ['169.254.170.2', 'metadata service'],
    ['100.100.100.200', 'metadata service'],
    ['168.63.129.16', 'metadata service'],
    ['fd00:ec2::254', 'metadata service'],
    ['fd00:0ec2:0:0:0:0:0:254', 'metadata service'],
    // IPv6
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['0:0:0:0:0:0:0:1', 'loopback'],
    ['fe80::1', 'link-local'],
    ['fe80::1%eth0', 'link-local'],
    ['febf:ffff::1', 'link-local'],
    ['fec0::1', 'deprecated-site-local'],
    ['fc00::1', 'unique-local'],
    ['fdff:ffff::1', 'unique-local'],
    ['ff00::1', 'multicast'],
    ['ff02::1', 'multicast'],
    ['ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'multicast'],
    ['100::1', 'discard'],
    ['100:0:0:1::1', 'reserved'],
    ['2001:db8::1', 'reserved'],
    ['2001:1::1', 'reserved'],
    ['2001:1ff:ffff::1', 'reserved'],
    ['2001:2::1', 'benchmarking'],
    ['2001:3::1', 'amt'],
    ['2001:4:112::1', 'as112v6'],
    ['2001:10::1', 'deprecated-orchid'],
    ['2001:20::1', 'orchid2'],
    ['2001:30::1', 'drone-remote-id-protocol-entity-tags'],
    ['2620:4f:8000::1', 'as112v6'],
    ['3fff::1', 'reserved'],
    ['5f00::1', 'segment-routing'],
    ['4000::1', 'reserved'],
    ['e000::1', 'reserved'],
    ['200::1', 'reserved'],
    // forms that carry an IPv4 address
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:7f00:1', 'loopback'],
    ['::FFFF:10.1.2.3', 'private'],
    ['0:0:0:0:0:ffff:a9fe:a9fe', 'metadata service'],
    ['::ffff:168.63.129.16', 'metadata service'],
    ['::ffff:0.0.0.0', 'unspecified'],
    ['64:ff9b::127.0.0.1', 'loopback'],
    ['64:ff9b::7f00:1', 'loopback'],
    ['64:ff9b::a00:1', 'private'],
    ['64:ff9b::a9fe:a9fe', 'metadata service'],
    ['64:ff9b::a83f:8110', 'metadata service'],
    ['64:ff9b:1::7f00:1', 'rfc6052'],
    ['64:ff9b:1::808:808', 'rfc6052'],
    ['64:ff9b:1:7f00:0:100::', 'rfc6052'],
    ['64:ff9b:2::7f00:1', 'reserved'],
    ['::7f00:1', 'reserved'],
    ['::127.0.0.1', 'reserved'],
    ['::8.8.8.8', 'reserved'],
    ['0::8.8.8.8', 'reserved'],
    ['::8.8.8.8%eth0', 'reserved'],
    ['::ffff:0:127.0.0.1', 'rfc6145'],
    ['::ffff:0:8.8.8.8', 'rfc6145'],
    ['2002:7f00:1::', '6to4'],
    ['2002:a00:1::1', '6to4'],
    ['2002:808:808::1', '6to4'],
    ['2001:0:7f00:1::', 'teredo'],
    ['2001::1', 'teredo'],
    // not an address at all
    ['', 'not an address'],
    ['localhost', 'not an address'],
    ['metadata.google.internal', 'not an address'],
    ['256.1.1.1', 'not an address'],
    ['1.2.3.4.5', 'not an address'],
    ['[::1]', 'not an address'],
    ['::1::', 'not an address'],
    ['10.0.0.0/8', 'not an address'],
    // never returned by resolvers, but accepted by inet_aton
    ['0x7f.1', 'loopback'],
    ['2130706433', 'loopback'],
    ['0177.0.0.1', 'loopback'],
    ['10.1', 'private'],
  ])('refuses %s: %s', (address, reason) => expect(guard(address)).toBe(reason));
});

describe('the address guard', () => {
  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '1.0.0.0',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '168.63.129.15',
    '168.63.129.17',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.1.1',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2000::1',
    '2001:200::1',
    '2001:4860:4860::8888',
    '2003::1',
    '2606:4700:4700::1111',
    '2a00:1450:4001:81b::200e',
    '3ffe:ffff::1',
    '::ffff:8.8.8.8',
    '::ffff:808:808',
    '64:ff9b::8.8.8.8',
    '64:ff9b::808:808',
  ])('allows the public address %s', (address) => expect(guard(address)).toBeUndefined());
});

describe('the address guard', () => {
  test.each<[string[], string, string | undefined]>([
    [['127.0.0.0/8'], '127.0.0.1', undefined],
    [['127.0.0.0/8'], '::ffff:127.0.0.1', undefined],
    [['127.0.0.0/8'], '64:ff9b::7f00:1', undefined],
    [['127.0.0.0/8'], '::1', 'loopback'],
    [['127.0.0.0/8'], '::7f00:1', 'reserved'],
    [['127.0.0.0/8'], '2002:7f00:1::', '6to4'],
    [['127.0.0.0/8'], '128.0.0.1', undefined],
    [['127.0.0.0/8'], '10.0.0.1', 'private'],
    [['127.0.0.0/8', '::1/128'], '::1', undefined],
    [['::1/128'], '::1', undefined],
    [['::1/128'], '127.0.0.1', 'loopback'],
    [['10.1.0.0/16'], '10.1.255.255', undefined],
    [['10.1.0.0/16'], '10.2.0.0', 'private'],
    [['10.1.2.3/32'], '10.1.2.3', undefined],
    [['10.1.2.3/32'], '10.1.2.4', 'private'],
    [['fd00::/8'], 'fd12:3456::1', undefined],
    [['fd00::/8'], 'fc00::1', 'unique-local'],
    [['2002::/16'], '2002:808:808::1', undefined],
    [['64:ff9b:1::/48'], '64:ff9b:1::7f00:1', undefined],
    [['169.254.169.254/32'], '169.254.169.254', undefined],
    [['169.254.0.0/16'], '169.254.169.254', 'metadata service'],
    [['169.254.0.0/16'], '169.254.1.1', undefined],
    [['0.0.0.0/0', '::/0'], '169.254.169.254', 'metadata service'],
    [['0.0.0.0/0', '::/0'], '::ffff:169.254.169.254', 'metadata service'],
    [['0.0.0.0/0', '::/0'], 'fd00:ec2::254', 'metadata service'],
    [['::/0'], '64:ff9b:1::a9fe:a9fe', 'metadata service'],
    [['::/0'], '2002:a9fe:a9fe::1', 'metadata service'],
    [['::/0'], '::169.254.169.254', 'metadata service'],
    [['::/0'], '::ffff:0:169.254.169.254', 'metadata service'],
    [['::/0'], '2600:1f14::a9fe:a9fe', undefined],
    [['fd00:ec2::254/128'], 'fd00:ec2::254', undefined],
    [['0.0.0.0/0'], '10.0.0.1', undefined],
    [['0.0.0.0/0'], '::1', 'loopback'],
    [['::ffff:0:0/96'], '::ffff:10.0.0.1', undefined],
  ])('with the allowed networks %j judges %s as %s', (networks, address, expected) => {
    expect(createAddressGuard(networks)(address)).toBe(expected);
  });

  test.each([
    ['8.8.8.8', 'forbidden by WAYPOST_FORBIDDEN_NETWORKS'],
    ['::ffff:8.8.8.8', 'forbidden by WAYPOST_FORBIDDEN_NETWORKS'],
    ['64:ff9b::8.8.8.8', 'forbidden by WAYPOST_FORBIDDEN_NETWORKS'],
    ['10.1.0.1', 'forbidden by WAYPOST_FORBIDDEN_NETWORKS'],
    ['2001:db8:1::1', 'forbidden by WAYPOST_FORBIDDEN_NETWORKS'],
    ['10.2.0.1', undefined],
    ['8.8.9.1', undefined],
  ])('%s in forbidden networks is judged as %s, even if public or allowed', (address, expected) => {
    const forbidden = ['8.8.8.0/24', '10.1.0.0/16', '2001:db8:1::/48'];
    expect(createAddressGuard(['10.0.0.0/8'], forbidden)(address)).toBe(expected);
  });

  test('an invalid network is refused when the guard is created', () => {
    expect(() => createAddressGuard(['10.0.0.1'])).toThrow();
  });
});

describe('metadata services of clouds', () => {
  const WIDE = [
    '0.0.0.0/0',
    '::/0',
    '169.254.0.0/16',
    '169.254.170.0/24',
    '100.64.0.0/10',
    '192.0.0.0/24',
    '168.63.129.0/24',
    'fc00::/7',
    'fd00:ec2::/32',
    'fe80::/10',
  ];
  const isIPv4 = (address: string) => address.includes('.');
  /** As their clouds name them, and not as the guard does. */
  const SERVICES = [
    ['most clouds', '169.254.169.254'],
    ['Amazon EC2', 'fd00:ec2::254'],
    ['Amazon ECS', '169.254.170.2'],
    ['Amazon EKS', '169.254.170.23'],
    ['Amazon EKS', 'fd00:ec2::23'],
    ['Azure', '168.63.129.16'],
    ['Google', 'fd20:ce::254'],
    ['Google GKE', '169.254.169.252'],
    ['Oracle', 'fd00:c1::a9fe:a9fe'],
    ['Oracle', '192.0.0.192'],
    ['Akamai', 'fd00:a9fe:a9fe::1'],
    ['OpenStack', 'fe80::a9fe:a9fe'],
    ['Scaleway', '169.254.42.42'],
    ['Scaleway', 'fd00:42::42'],
    ['Alibaba', '100.100.100.200'],
    ['Alibaba', 'fd00:100::100:200'],
    ['Tencent', '169.254.0.23'],
  ] as const;
  const ADDRESSES = SERVICES.map(([, address]) => address);

  test('the guard knows these services, and no others', () => {
    expect([...METADATA_ADDRESSES].sort()).toEqual([...ADDRESSES].sort());
  });

  test.each(SERVICES)('of %s, %s is refused, also within allowed networks', (_, address) => {
    expect(guard(address)).toBe('metadata service');
    expect(createAddressGuard(WIDE)(address)).toBe('metadata service');
  });

  test.each(ADDRESSES)('%s is allowed by its exact address alone', (address) => {
    const bits = isIPv4(address) ? 32 : 128;
    expect(createAddressGuard([`${address}/${bits}`])(address)).toBeUndefined();
    expect(createAddressGuard([`${address}/${bits - 1}`])(address)).toBe('metadata service');
  });

  test.each(ADDRESSES.filter(isIPv4))('%s is refused in its IPv6 forms', (address) => {
    expect(createAddressGuard(WIDE)(`::ffff:${address}`)).toBe('metadata service');
    expect(createAddressGuard(WIDE)(`64:ff9b::${address}`)).toBe('metadata service');
  });

  test('a zone does not hide a metadata service', () => {
    expect(createAddressGuard(['fe80::/10'])('fe80::a9fe:a9fe%eth0')).toBe('metadata service');
  });
});

describe('literalAddress', () => {
  const hostname = (host: string) => new URL(`http://${host}/`).hostname;
  test.each([
    ['127.0.0.1', '127.0.0.1'],
    ['127.0.0.1.', '127.0.0.1'],
    ['127.1', '127.0.0.1'],
    ['2130706433', '127.0.0.1'],
    ['0x7f000001', '127.0.0.1'],
    ['0x7f.1', '127.0.0.1'],
    ['0177.0.0.1', '127.0.0.1'],
    ['%31%32%37.0.0.1', '127.0.0.1'],
    ['１２７.0.0.1', '127.0.0.1'],
    ['[::1]', '::1'],
    ['[0:0::1]', '::1'],
    ['[::ffff:127.0.0.1]', '::ffff:7f00:1'],
    ['example.com', undefined],
    ['localhost', undefined],
    ['localhost.', undefined],
    ['1.2.3.4.example.com', undefined],
    ['metadata.google.internal', undefined],
    ['a1', undefined],
  ])('reads %s as %s', (host, expected) => expect(literalAddress(hostname(host))).toBe(expected));

  test('returns literals in every spelling, so that the guard checks them', () => {
    for (const host of ['127.1', '2130706433', '0x7f.1', '[::1]', '[::ffff:7f00:1]', '[::]', '0']) {
      expect(guard(literalAddress(hostname(host))!)).toEqual(expect.any(String));
    }
  });
});

describe('the address guard', () => {
  const ipv4 = fc
    .tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255))
    .map((octets) => octets.join('.'));
  test('judges mapped and NAT64 forms as their IPv4 address, allowed networks included', () => {
    const inside = createAddressGuard(['10.0.0.0/8']);
    fc.assert(
      fc.property(ipv4, (address) => {
        for (const judge of [guard, inside]) {
          expect(judge(`::ffff:${address}`)).toBe(judge(address));
          expect(judge(`64:ff9b::${address}`)).toBe(judge(address));
        }
      }),
      { numRuns: cases(1_000) },
    );
  });

  test('throws for no text, and accepts only addresses', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.ipV4Extended(), fc.ipV6(), fc.domain()), (text) => {
        if (guard(text) === undefined) expect(literalAddress(text)).toEqual(expect.any(String));
      }),
      { numRuns: cases(1_000) },
    );
  });
});
