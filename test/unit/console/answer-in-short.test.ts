import { answerInShort } from '../../../console/src/lib/labels';

test.each([
  ['a status', 503, 'status', '503'],
  ['a broken TLS connection', undefined, 'tls', 'TLS error'],
  ['no answer in time', null, 'timeout', 'no answer'],
  // The receiver may have got all of it before the connection broke.
  ['a connection that broke', null, 'connection', 'connection error'],
  // Not 403 Forbidden, which a receiver says.
  ['an address that Waypost does not call', null, 'forbidden_address', 'address blocked'],
  ['an error of a later version', null, 'quic', 'quic'],
  ['no request at all', null, undefined, '–'],
])('where a status would stand: %s', (_, status, code, says) => {
  expect(answerInShort(status, code)).toBe(says);
});
