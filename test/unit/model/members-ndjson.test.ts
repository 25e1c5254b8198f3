import fc from 'fast-check';
import { createMembersNdjson, memberLine } from '../../../shared/model/members-ndjson';

test.each([
  ['ann', '"ann"'],
  [' 123\r', '"123"'],
  ['"ann"', '"ann"'],
  ['{"userId":"ann"}', '{"userId":"ann"}'],
  ['{"add":"ann"}', '{"add":"ann"}'],
  ['{broken', '"{broken"'],
  ['', undefined],
])('the line %j is sent as %s', (line, sent) => {
  expect(memberLine(line)).toBe(sent);
});

test('a text split anywhere gives the same lines, each once', () => {
  const id = fc.stringMatching(/^[a-zé"{ ]{0,6}$/);
  fc.assert(
    fc.property(fc.array(id), fc.array(fc.nat(9), { minLength: 1 }), fc.boolean(), (ids, sizes, broken) => {
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
    }),
  );
});
