import { addressKey, createClientAddress } from '../../../shared/runtime/client-address';

const PROXIES = ['10.0.0.0/8', 'fd00::/8'];

test.each([
  ['the peer, without proxies', [], '203.0.113.7', undefined, '203.0.113.7'],
  ['the peer, although it forwards for another', [], '203.0.113.7', '198.51.100.1', '203.0.113.7'],
  ['the peer, where it is no trusted proxy', PROXIES, '203.0.113.7', '198.51.100.1', '203.0.113.7'],
  [
    'the peer, where a trusted proxy forwards for no address',
    PROXIES,
    '10.0.0.1',
    undefined,
    '10.0.0.1',
  ],
  ['the entry that a trusted proxy wrote', PROXIES, '10.0.0.1', '198.51.100.1', '198.51.100.1'],
  [
    'the right-most untrusted entry',
    PROXIES,
    '10.0.0.1',
    '1.1.1.1, 198.51.100.1, 10.0.0.2',
    '198.51.100.1',
  ],
  [
    'the left-most entry, where all are trusted',
    PROXIES,
    '10.0.0.1',
    '10.0.0.3, 10.0.0.2',
    '10.0.0.3',
  ],
  [
    'the last address before an entry that is none',
    PROXIES,
    '10.0.0.1',
    '1.1.1.1, unknown, 10.0.0.2',
    '10.0.0.2',
  ],
  ['an entry without its port', PROXIES, '10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
  ['an IPv6 entry without its port', PROXIES, '10.0.0.1', '[2001:db8::1]:4711', '2001:db8::1'],
  ['IPv4 over an IPv6 socket, as IPv4', PROXIES, '::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
  [
    'an IPv4 entry in its IPv6 form, as IPv4',
    PROXIES,
    'fd00::1',
    '::ffff:198.51.100.1',
    '198.51.100.1',
  ],
  ['a word, where the socket is closed', PROXIES, undefined, '198.51.100.1', 'unknown'],
])('the client address is %s', (_, proxies, peer, forwardedFor, address) => {
  expect(createClientAddress(proxies)(peer, forwardedFor)).toBe(address);
});

test.each([
  ['198.51.100.1', '198.51.100.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
  ['::ffff:198.51.100.1', '198.51.100.1'],
  ['unknown', 'unknown'],
])('%s is limited as %s', (address, key) => {
  expect(addressKey(address)).toBe(key);
});
