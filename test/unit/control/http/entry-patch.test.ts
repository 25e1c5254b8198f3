import { mergePatch } from '../../../../services/control/http/entry-patch';
import { type Json } from '../../../../shared/model/message';

/** The table of RFC 7396, appendix A. */
const TABLE: [target: Json, patch: Json, result: Json][] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];

test.each(TABLE)('%j patched by %j is %j', (target, patch, result) => {
  const before = JSON.stringify([target, patch]);
  expect(mergePatch(target, patch)).toEqual(result);
  expect(JSON.stringify([target, patch])).toBe(before);
});

test('__proto__ is a key like any other', () => {
  const merged = mergePatch({}, JSON.parse('{"__proto__":{"polluted":true}}') as Json);
  expect((merged as { polluted?: boolean }).polluted).toBeUndefined();
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  expect(Object.keys(merged as object)).toEqual(['__proto__']);
});
