import { answerInShort } from '../../../console/src/lib/labels';

test.each([
  ['a status', 503, 'status', '503'],
  ['a broken TLS connection', undefined, 'tls', 'TLS error'],
  ['no answer in time', null, 'timeout', 'no answer'],
  ['an error of a later version', null, 'quic', 'quic'],
  ['no request at all', null, undefined, '–'],
])('where a status would stand: %s', (_, status, code, says) => {
  expect(answerInShort(status, code)).toBe(says);
});
