import { decodeCommit } from '../../../tools/chaos/commits';

/** Bytes that Kafka 4.1 wrote for a group of this system. */
const KEY = '00010010776179706f73742d64656c69766572790008776562686f6f6b7300000005';
const VALUE = '00040000000000000019ffffffff0a72312e41515943484100' + '0001a1fe9236fc00';

const bytes = (hex: string) => Buffer.from(hex, 'hex');

test('the reader understands a commit of Kafka 4.1', () => {
  const metadata = 'r1.AQYCH';
  expect(decodeCommit(bytes(KEY), bytes(VALUE))).toEqual({
    group: 'waypost-delivery',
    topic: 'webhooks',
    partition: 5,
    offset: 25,
    metadata: expect.stringContaining(metadata),
  });
});

test('the reader understands a commit of older brokers', () => {
  const value = `00030000000000000019ffffffff0003${Buffer.from('r1.').toString('hex')}000001a1fe9236fc`;
  expect(decodeCommit(bytes(KEY), bytes(value))).toMatchObject({ offset: 25, metadata: 'r1.' });
});

test('a commit of an unknown version is not read as one without metadata', () => {
  expect(() => decodeCommit(bytes(KEY), bytes('0009'))).toThrow('version 9');
});

test('a record of group members is not read as a commit', () => {
  expect(decodeCommit(bytes('00020003616263'), bytes('0003'))).toBeUndefined();
});
