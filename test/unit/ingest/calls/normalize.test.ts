import fc from 'fast-check';
import { type JsonObject } from '../../../../shared/model/message';
import { SharedObject } from '../../../../services/ingest/calls/normalize';

const key = fc.oneof(
  fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor', '"', '1', ''),
  fc.string(),
);
const object = fc
  .array(fc.tuple(key, fc.jsonValue()), { maxLength: 8 })
  .map((entries) => Object.fromEntries(entries) as JsonObject);

test("the written object holds the shared and the call's own keys, of which its own win", () => {
  fc.assert(
    fc.property(object, fc.option(object, { nil: undefined }), (shared, own) => {
      const expected = JSON.parse(JSON.stringify({ ...shared, ...own })) as JsonObject;
      expect(JSON.parse(new SharedObject(shared).with(own))).toEqual(expected);
    }),
  );
});

test('one shared object is written into many calls', () => {
  const shared = new SharedObject({ a: 1, b: { c: 2 } });
  expect(
    [{ a: 2 }, undefined, { b: 1, d: 3 }, {}].map((own) => JSON.parse(shared.with(own)) as object),
  ).toEqual([
    { a: 2, b: { c: 2 } },
    { a: 1, b: { c: 2 } },
    { a: 1, b: 1, d: 3 },
    { a: 1, b: { c: 2 } },
  ]);
});
