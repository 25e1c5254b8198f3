import { allows } from '../../../console/src/lib/access';

test.each([
  ['read_only', null, 'GET /sources', true],
  ['read_only', null, 'PATCH /sources/{id}', false],
  ['operator', null, 'PATCH /sources/{id}', true],
  ['operator', null, 'POST /sources', false],
  ['admin', null, 'POST /sources', true],
  ['admin', ['sources:read'], 'POST /sources', false],
  ['admin', ['sources:write'], 'POST /sources', true],
  ['read_only', ['sources:write'], 'POST /sources', false],
  ['read_only', ['sources:read'], 'GET /session', true],
  ['read_only', ['filters:write'], 'POST /filters/try', false],
  ['read_only', ['filters:write', 'events:read'], 'POST /filters/try', true],
] as const)(
  'the console of a session with the role %s and the rights %j offers %s: %s',
  (role, rights, name, expected) => {
    expect(allows({ role, rights: rights && [...rights] }, name)).toBe(expected);
  },
);
