import { parseFacts } from '../../../../services/control/history/audit';
import { createAuthenticator, NOTE_HEADER } from '../../../../shared/config/authentication';
import { FORMAT } from '../../../../shared/model/record-format';
import { aDestination, aRecord } from '../../../support/factories';

/** Whose changes the audit trail and the versions of destinations show. */

const authenticator = createAuthenticator([Buffer.alloc(32, 7)]);
const AT = '2026-01-01T00:00:00.000Z';
const by = { id: 'tok_kim', name: 'Kim', role: 'admin' };
const note = JSON.stringify({ by, action: 'created', name: 'Hooks', changes: [] });
const value = JSON.stringify({
  format: FORMAT,
  kind: 'destination',
  id: 'dst_1',
  version: 1,
  replaces: 0,
  at: AT,
  data: aDestination(),
});
const factsOf = (headers: Record<string, string>) => {
  const record = { key: Buffer.from('destination:dst_1'), value: Buffer.from(value), headers };
  return parseFacts(aRecord(record), authenticator).map((fact) => fact?.kind);
};

test('a change that control wrote is in the audit trail and among the versions', () => {
  expect(factsOf(authenticator.sign(value, { [NOTE_HEADER]: note }))).toEqual(['audit', 'version']);
});

test.each([
  ['a record of a stranger in the name of an administrator', { [NOTE_HEADER]: note }],
  [
    'a note of a stranger at a record of control',
    { ...authenticator.sign(value, {}), [NOTE_HEADER]: note },
  ],
])('%s is in neither', (_, headers) => expect(factsOf(headers)).toEqual([]));
