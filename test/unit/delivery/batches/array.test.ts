import { batchBytes, failedMembers, joinBodies } from '../../../../services/delivery/batches/array';

const bodies = (...texts: string[]) => texts.map((text) => Buffer.from(text));

test.each([
  [['{"a":1}'], '[{"a":1}]'],
  [['{"a":1}', '{"a" : 2}', '3'], '[{"a":1},{"a" : 2},3]'],
])('the bodies %j are joined to the bytes %s', (texts, joined) => {
  const array = joinBodies(bodies(...texts));
  expect(array.toString()).toBe(joined);
  expect(batchBytes(texts.length, texts.join('').length)).toBe(array.length);
});

test.each<[string, [index: number, status: number][]]>([
  [
    '{"failed":[{"index":3,"status":503},{"index":0,"status":400}]}',
    [
      [3, 503],
      [0, 400],
    ],
  ],
  ['{"failed":[{"index":1,"status":404,"message":"unknown user"}],"accepted":3}', [[1, 404]]],
  ['{"failed":[]}', []],
  ['', []],
  ['ok', []],
  ['{"failed":[{"index":3', []],
  ['{"failed":3}', []],
  ['{"failed":[{"index":4,"status":503}]}', []],
  ['{"failed":[{"index":-1,"status":503}]}', []],
  ['{"failed":[{"index":"1","status":503}]}', []],
  ['{"failed":[{"index":1}]}', []],
  ['{"failed":[{"index":1,"status":99}]}', []],
  ['{"failed":[{"index":1,"status":600}]}', []],
  ['{"failed":[null]}', []],
  ['[{"failed":[{"index":1,"status":503}]}]', []],
])('the response %s to a batch of four names %j as failed', (body, failed) => {
  expect([...failedMembers(Buffer.from(body), 4)]).toEqual(failed);
});
