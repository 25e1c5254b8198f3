import { findPath, isApi } from '../../../../services/control/app/mount';
import { type Handlers, type HandlersOf } from '../../../../services/control/http/handlers';
import { OPERATION_IDS, RESOURCES, RIGHTS, rightsFor } from '../../../../shared/api/access';

test('operations without a handler do not compile, nor do handlers without an operation', () => {
  const serve = () => ({ ingest: { url: null, port: 1 }, retry: { delays: [], window: '4h' } });
  // @ts-expect-error nearly all are missing
  const incomplete: Handlers = { 'GET /about': serve };
  const complete: HandlersOf<'about'> = { 'GET /about': serve };
  const oneTooMany: HandlersOf<'about'> = {
    ...complete,
    // @ts-expect-error it is not in the table
    'POST /about': serve,
  };
  expect([incomplete, oneTooMany]).toHaveLength(2);
});

test.each([
  ['/api/v1/sources', '/sources', ''],
  ['/api/v1/sources?after=/x', '/sources', ''],
  ['/api/v1/sources/src_1', '/sources/{id}', 'src_1'],
  ['/api/v1/audiences/preview', '/audiences/preview', ''],
  ['/api/v1/audiences/previews/pre_1', '/audiences/previews/{id}', 'pre_1'],
])('the URL path %s belongs to the path %s with the id "%s"', (url, template, id) => {
  const found = findPath(url);
  expect([found?.path.template, found?.id]).toEqual([template, id]);
});

test.each([
  '/api/v1/sources/',
  '/api/v1/sources/a.b',
  '/api/v1/sources/..',
  `/api/v1/sources/${'a'.repeat(201)}`,
  '/',
  '',
])('the table of paths does not contain %j', (url) => expect(findPath(url)).toBeUndefined());

test.each([
  ['/api', true],
  ['/API/V1/x', true],
  ['//x/../api', true],
  ['/%61pi%2fv1', true],
  ['\\api', true],
  ['/%E0%A4%A/../api', true],
  ['/apiary', false],
  ['/x?/api', false],
  ['/', false],
])('the path %s leads to the API: %s', (url, expected) => expect(isApi(url)).toBe(expected));

describe('rights', () => {
  test("each resource is a path's first segment, except session, description and lookup", () => {
    const nouns = new Set(OPERATION_IDS.map((id) => id.split('/')[1]));
    expect([...nouns].filter((noun) => !RESOURCES.some((each) => each === noun)).sort()).toEqual([
      'lookup',
      'openapi.json',
      'session',
    ]);
    expect(RESOURCES.filter((resource) => !nouns.has(resource))).toEqual([]);
    expect(RIGHTS).toHaveLength(2 * RESOURCES.length);
  });

  test.each([
    ['GET /sources', ['sources:read']],
    ['PATCH /sources/{id}', ['sources:write']],
    ['POST /deliveries/{id}/replay', ['deliveries:write']],
    ['POST /filters/try', ['filters:write', 'events:read']],
    ['GET /destinations/{id}/filter', ['destinations:read', 'events:read']],
    ['GET /lookup', ['events:read', 'deliveries:read']],
    ['GET /session', []],
    ['GET /openapi.json', []],
  ] as const)('%s needs the rights %j', (id, rights) => expect(rightsFor(id)).toEqual(rights));
});
