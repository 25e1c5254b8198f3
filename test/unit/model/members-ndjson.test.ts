import fc from 'fast-check';
import {
  cellsOf,
  createMembersNdjson,
  csvColumnOf,
  memberLine,
} from '../../../shared/model/members-ndjson';

test.each([
  ['ann', '"ann"'],
  [' 123\r', '"123"'],
  ['"ann"', '"ann"'],
  ['{"userId":"ann"}', '{"userId":"ann"}'],
  ['{"add":"ann"}', '{"add":"ann"}'],
  ['{broken', '{broken'],
  ['', undefined],
])('the line %j is sent as %s', (line, sent) => {
  expect(memberLine(line)).toBe(sent);
});

test.each([
  ['user_id,email', ',', 0],
  ['email;User ID;plan', ';', 1],
  ['name\tid', '\t', 1],
  ['\ufeffuserId', ',', 0],
  ['"email","user-id"', ',', 1],
])('the first line %j is the header of a CSV file', (line, separator, index) => {
  expect(csvColumnOf(line)).toEqual({ separator, index });
});

test.each(['ann', 'id', '"a,b"', '{"userId":"a,b"}'])('the first line %j is a member', (line) => {
  expect(csvColumnOf(line)).toBeUndefined();
});

test('a file with several columns and no known name is refused with instructions', () => {
  const lines = createMembersNdjson();
  expect(() => lines.add('ann,a@x.example\nbob,b@x.example\n')).toThrow(
    /must name the column of the user ids: user_id/,
  );
});

test('a CSV file yields the ids of its column, without the header and rows that have none', () => {
  const lines = createMembersNdjson();
  const made = lines.add('email,user_id\r\na@x.example,u-1\r\n"b, c",""\n,"u ""2""') + lines.end();
  expect([made, lines.count]).toEqual(['"u-1"\n"u \\"2\\""\n', 2]);
  expect(cellsOf('a;"b;""c"', ';')).toEqual(['a', 'b;"c']);
});

test('a text split anywhere gives the same lines, each once', () => {
  const id = fc.stringMatching(/^[a-zé"{ ]{0,6}$/);
  fc.assert(
    fc.property(
      fc.array(id),
      fc.array(fc.nat(9), { minLength: 1 }),
      fc.boolean(),
      (ids, sizes, broken) => {
        const text = ids.join('\n') + (broken ? '\n' : '');
        const lines = createMembersNdjson();
        let made = '';
        for (let at = 0, i = 0; at < text.length; i++) {
          const size = 1 + sizes[i % sizes.length]!;
          made += lines.add(text.slice(at, at + size));
          at += size;
        }
        made += lines.end();
        const expected = ids.map(memberLine).filter((line) => line !== undefined);
        expect(made).toBe(expected.map((line) => `${line}\n`).join(''));
        expect(lines.count).toBe(expected.length);
      },
    ),
  );
});
