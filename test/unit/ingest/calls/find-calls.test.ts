import { type FoundCall } from '../../../../services/ingest/calls/call-pieces';
import { findCalls } from '../../../../services/ingest/calls/find-calls';
import { finish } from '../../../../services/ingest/calls/steps';
import { type EnvelopeParts, type Range } from '../../../../services/ingest/calls/found-item';

const A = '{"type":"a","p":{"k":[1,{}]},"t":"\\"]}"}';
const B = '{"type":"b"}';
const C = '{"type":"c"}';
/** A whole call that stands where no call can. */
const X = '{"type":"x","userId":"u"}';
const inText = JSON.stringify(`},${X},{"batch":[${X}]}`);
const END = '],"sentAt":"s","writeKey":"k"}';

const find = (text: string) => {
  const body = Buffer.from(text);
  const found = finish(findCalls(body, 5_000));
  const shown = (range: Range) => body.toString('utf8', ...range);
  const calls = found.pieces.filter((piece): piece is FoundCall => 'parts' in piece);
  return {
    found,
    calls: calls.map(({ range }) => shown(range)),
    lost: found.pieces.filter((piece) => !('parts' in piece)).map(({ range }) => shown(range)),
    /** the members of each call's envelope */
    parts: calls.map(({ parts }) =>
      Object.fromEntries(Object.entries(parts).map(([k, range]) => [k, shown(range)])),
    ),
  };
};

describe('between calls', () => {
  test.each([
    ['a comma before the first', `{"batch":[,${A},${B}${END}`],
    ['a missing comma', `{"batch":[${A}${B}${END}`],
    ['brackets too many at the end', `{"batch":[${A},${B}]}}}`],
    ['a bracket too many before the last members', `{"batch":[${A},${B}]},"sentAt":"s"}`],
    [
      'another end, with a member that is not known',
      `{"batch":[${A}],"sentAt":"s"},${B}],"sentAt":"t","channel":"mobile"}`,
    ],
    ['several commas', `{"batch":[${A},,,${B},${END}`],
    ['NUL bytes', `\0{"batch":[\0${A}\0,\0\0${B}\0${END}\0\0`],
    ['another end', `{"batch":[${A},${B}${END}],"sentAt":"t"}`],
    ['a bracket too many at the end', `{"batch":[${A},${B}${END}}`],
    [
      'the end of one envelope, and the start of the next',
      `{"batch":[${A}${END}{"batch":[${B}${END}`,
    ],
    ['the same, with a comma', `{"batch":[${A}${END},{"batch":[${B}${END}`],
    ['the same, with byte order marks', `\ufeff{"batch":[${A}${END}\n\ufeff{"batch":[${B}${END}`],
    ['the end of one envelope without the start of the next', `{"batch":[${A}${END},${B}${END}`],
    [
      'the start of an envelope without the end of the one before',
      `{"batch":[${A},{"batch":[${B}${END}`,
    ],
    ['nothing: the end is cut off', `{"batch":[${A},${B}`],
    ['nothing: the end is cut off within it', `{"batch":[${A},${B}],"sentAt":"2026-1`],
    ['a bracket that closes the array too early', `{"batch":[${A}],${B}${END}`],
    ['nothing: the start is cut off within the name', `atch":[${A},${B}${END}`],
    ['nothing: the start is cut off before the bracket', `[${A},${B}${END}`],
    ['nothing: the start is missing, and the end of a key', `${A},${B}],"sent`],
    ['nothing: the start is missing, and the end of a time', `${A},${B}],"sentAt":"2026`],
    ['nothing: the start is missing', `${A},${B}${END}`],
    ['nothing: start and end are missing', `,${A},${B}]`],
  ])('%s', (_, text) => {
    expect(find(text)).toMatchObject({ calls: [A, B], lost: [] });
  });
});

describe('a broken call', () => {
  test.each([
    ['is cut off at the end', `{"batch":[${A},${B},{"type":"c","p":{"a":1`],
    ['is cut off at the start', `p":{"l":[${X}]},"t":${inText}},${A},${B}${END}`],
    ['is cut off at the start within a text', `${inText.slice(5)}},${A},${B}${END}`],
    [
      'is cut off at the start within an array',
      `${X},${X}]},"n":[{"batch":[${X}]}]},${A},${B}${END}`,
    ],
    ['lacks a bracket', `{"batch":[${A},{"p":{"l":[1,${X}]},${B}${END}`],
    ['lacks the bracket of an array', `{"batch":[${A},{"p":{"l":[1,${X}},"q":1},${B}${END}`],
    ['has brackets too many', `{"batch":[${A},{"p":{"l":[{"k":1}}},${X}]}},${B}${END}`],
    [
      'lacks the quote behind a text',
      `{"batch":[${A},{"e":"e,"p":{"l":[{"k":1},${X}]}},${B}${END}`,
    ],
    [
      'lacks the quote behind a key',
      `{"batch":[${A},{"type":"t","l:[[{"k":1},${X},${X}]]},${B}${END}`,
    ],
    [
      'lacks the quote before a text',
      `{"batch":[${A},{"e":e","p":{"l":[${X}]},"t":${inText}},${B}${END}`,
    ],
    ['has a quote too many', `{"batch":[${A},{"e":"e"","p":{"l":[${X}]},"t":${inText}},${B}${END}`],
    ['has a backslash between its texts', `{"batch":[${A},{"e":\\"e","p":{"l":[${X}]}},${B}${END}`],
  ])('that %s is lost, and its neighbours are not', (_, text) => {
    const { calls, lost } = find(text);
    expect(calls).toEqual([A, B]);
    expect(lost).toHaveLength(1);
  });

  test.each([
    ['words', '{"type":undefined}'],
    ['a missing comma', '{"a":1 "b":"c""d":2}'],
    ['a comma too many', '{"a":1,,"b":2,}'],
    ['no object', '"text"'],
    ['a word', 'null'],
    ['an array with a call', `[${X}]`],
  ])('in which every bracket fits is found with its neighbours: %s', (_, call) => {
    expect(find(`{"batch":[${A},${call},${B}${END}`)).toMatchObject({
      calls: [A, call, B],
      lost: [],
    });
  });

  test.each([
    ['the bracket before the key', `{"p":"batch":[${X}],"writeKey":"k"},"type":"c"}`],
    ['a bracket too many before the object', `{"type":"c","p":}{"batch":[${X}],"sentAt":"s"}}`],
    ['the bracket before the key, and another one', `{"p":"batch":[${X}],"x":[{]}},"type":"c"}`],
  ])('that holds an envelope is lost, whose calls are none: %s', (_, call) => {
    for (const end of [END, '']) {
      const { calls } = find(`{"batch":[${A},${call},${B}${end}`);
      expect(calls).not.toContain(X);
      expect(calls).toContain(A);
      // Without an end nothing tells the level behind a fault.
      if (end) expect(calls).toContain(B);
    }
  });

  test('behind an envelope that was begun anew costs none of its calls', () => {
    const broken = '{"type":"t","p":{"l":[1}';
    const { calls } = find(
      `{"batch":[${A},{"batch":[${B},${C}${END},{"batch":[${A},${broken}${END}`,
    );
    expect(calls).toEqual([A, B, C, A]);
  });

  test('that seems to end before its end is not taken for a shorter one', () => {
    const { calls } = find(
      `{"batch":[${A},{"type":"t","userId":"u","p":{}},"secret":1},${B}${END}`,
    );
    expect(calls).toEqual([A, B]);
  });
});

describe('a call that is cut off before whole envelopes', () => {
  const whole = `{"batch":[${B}${END}`;

  test.each([
    ['within a text', '{"type":"t","event":"ev'],
    ['behind an escape', '{"type":"t","event":"ev\\'],
    ['within a key', '{"type":"t","userI'],
    ['behind a key', '{"type":"t","userId"'],
    ['behind a value', '{"type":"t","p":{"l":1'],
    ['behind a comma', '{"type":"t",'],
  ])('%s is lost, and they are not', (_, cut) => {
    for (const between of ['', ',', '\n', '\0']) {
      const further = `{"context":{},"batch":[${C}],"sentAt":"t"}`;
      expect(find(`{"batch":[${A},${cut}${between}${whole}${between}${further}`)).toMatchObject({
        calls: [A, B, C],
        lost: [expect.stringMatching(/^\{/)],
        parts: [{}, { sentAt: '"s"', writeKey: '"k"' }, { context: '{}', sentAt: '"t"' }],
      });
    }
  });

  test.each([
    ['an envelope without time and key', `{"batch":[${A},{"e":"x{"batch":[${X}]}`],
    ['an object that did not begin there', `{"batch":[${A},{"e":e","batch":[${X}],"sentAt":"s"}`],
    ['a call with a type', `{"batch":[${A},{"e":"x{"type":"t","batch":[${X}],"sentAt":"s"}`],
    ['a member of the call', `{"batch":[${A},{"type":"t","p":{"batch":[${X}],"sentAt":"s"}`],
    ['an envelope before a further key', `{"batch":[${A},{"e":"x{"batch":[${X}],"sentAt":"s"},"k`],
    ['an envelope before a call', `{"batch":[${A},{"e":"x{"batch":[${X}],"sentAt":"s"},${X}`],
  ])('costs what may be part of it: %s', (_, text) => {
    expect(find(text).calls).toEqual([A]);
  });
});

describe('no call is', () => {
  test.each([
    ['in a text', `{"batch":[,{"t":${inText}}`],
    ['in an object', `{"batch":[,{"p":${X},"q":{"batch":[${X}]}}`],
    ['in an array of a call', `{"batch":[,{"p":[${X},{"batch":[${X}]}]}`],
    ['in a field `batch` of a call', `{"batch":[,{"type":"t","batch":[${X}]}`],
    ['behind a key at the level of the array', `{"batch":[${C},"p":${X},${X}}`],
    ['in an array with another name', `{"items":[${X},,${X}],"batch":[]}`],
    ['in an array within the array', `{"batch":[[${X}],[{"batch":[${X}]}],,`],
    ['in an array without an envelope', `[${X},,${X}]`],
    ['on a line of its own', `${X}\n${X}\n`],
    ['behind a key whose object is not seen', `"p":${X},"q":1}`],
    ['in a list before another member of its call', `${X},${X}]},"timestamp":"t"}`],
    ['in a list before a member that envelopes have too', `${X},${X}]},"context":{}}`],
    ['in a list before further members of its call', `${X},${X}],"currency":"USD","total":1`],
    ['in a list before a further key that is cut off', `${X},${X}],"curr`],
    ['in a list before a key that is cut off', `${X},${X}]},"timest`],
    ['in a list before a list', `${X},${X}]},[1`],
    ['behind the end of a key', `":[${X},{"a`],
    ['behind the end of `search`', `ch":[${X},{"a`],
    ['behind the end of `search`, before a fault', `ch":[${X},{"a"b"},${X}],"x":1},${C}${END}`],
    ['behind the end of `match`', `atch":[${X},{"a`],
    ['in an object with which the text begins', `{"batch":[${X}]}}},{"type":"t"`],
    ['in an object at the start, before a broken call', `{"batch":[${X}]}},{"e":"x"y"}${END}`],
    ['in an object at the start, before calls', `{"batch":[${X}]},"sentAt":"s"},${C}${END}`],
    ['in an object at the start, before an end', `{"batch":[${X}],"sentAt":"s"},"id":"i"}${END}`],
    [
      'in a list at the start, before calls',
      `{"batch":[${X}],"sentAt":"s"},${X}],"channel":"c"},${C}${END}`,
    ],
  ])('%s', (_, text) => {
    expect(find(text).calls.filter((call) => call === X)).toEqual([]);
  });

  const whole =
    `{"sentAt":"r","batch":[{"type":"a","p":{"l":[${X},{"batch":[${X}]},${X}],"batch":[${X}],"x":${X}},"t":${inText}},` +
    `${B},{"type":"c","p":{"l":[[${X}]],"batch":[${X}]}},${C}${END}`;

  test('wherever the text begins or ends, a call within a call is none', () => {
    const calls = find(whole).calls;
    expect(calls).toHaveLength(4);
    const firstEnd = whole.indexOf(B) - 1;
    for (let at = 0; at <= firstEnd; at++) {
      expect([at, find(whole.slice(at)).calls]).toEqual([
        at,
        at <= whole.indexOf('{"type":"a"') ? calls : calls.slice(1),
      ]);
    }
    for (let at = whole.indexOf(B); at < whole.length; at++) {
      const until = calls.filter((call) => whole.lastIndexOf(call) + call.length <= at);
      expect([at, find(whole.slice(0, at)).calls]).toEqual([at, until]);
    }
  });
});

describe('the members of the envelope', () => {
  const parts = (text: string): (EnvelopeParts | object)[] => find(text).parts;

  test('are those of its own envelope', () => {
    const text = `{"context":{"a":1},"batch":[${A}],"sentAt":"s"}{"batch":[${B}${END},${C}],"writeKey":"other"}`;
    expect(parts(text)).toEqual([
      { context: '{"a":1}', sentAt: '"s"' },
      { sentAt: '"s"', writeKey: '"k"' },
      { writeKey: '"other"' },
    ]);
  });

  test('hold for all its calls, also behind a broken one', () => {
    const text = `{"context":{"a":1},"batch":[${A},{"e":e","x":1},${B}${END}`;
    const all = { context: '{"a":1}', sentAt: '"s"', writeKey: '"k"' };
    expect(parts(text)).toEqual([all, all]);
  });

  test('end where the text breaks off', () => {
    expect(parts(`{"batch":[${A},{"batch":[${B}],"sentAt":"s","writeKey":"k`)).toEqual([
      {},
      { sentAt: '"s"', writeKey: '"k' },
    ]);
    expect(parts(`{"batch":[${A}],"integrations":{"All":fal`)).toEqual([
      { integrations: '{"All":fal' },
    ]);
    expect(parts(`x"}},${B}],"integrations":`)).toEqual([{ integrations: '' }]);
    // The first digits of a number are another number.
    expect(parts(`{"batch":[${A}],"sentAt":17000`)).toEqual([{ sentAt: '' }]);
    expect(parts(`x"}},${B}${END}`)).toEqual([{ sentAt: '"s"', writeKey: '"k"' }]);
  });
});

describe('a member of the envelope', () => {
  const all = { integrations: '{"All":false}', context: '{"a":1}', sentAt: '"s"', writeKey: '"k"' };

  test.each([' ', '', '\0', '\n'])(
    'ends before the next key: %j in place of a comma',
    (between) => {
      const members = Object.entries(all).map(([key, value]) => `"${key}":${value}`);
      for (const [first, second] of [members, [...members].reverse()].map((each) => [
        each.slice(0, 2),
        each.slice(2),
      ])) {
        const text = `{${[...first!, `"batch":[${A}]`, ...second!].join(between)}}`;
        const [found] = find(text).parts as Record<string, string>[];
        const trimmed = Object.entries(found!).map(([k, v]) => [k, v.replace(/[\s\0]+$/, '')]);
        expect(Object.fromEntries(trimmed)).toEqual(all);
      }
    },
  );

  test.each([
    ['behind its array', `{"batch":[${A},${B}],"integrations":{"All":"fal"se"},"sentAt":"s"}`],
    ['before its array', `{"integrations":{"All":"fal"se"},"batch":[${A},${B}],"sentAt":"s"}`],
    ['behind a broken call', `{"batch":[${A},{"e":"x"y"},${B}],"integrations":{"All":"fal"se"}}`],
    ['behind a broken call, cut off', `{"batch":[${A},{"e":"x"y"},${B}],"integrations":{"All":f`],
    ['with two faults', `{"integrations":{"x":"a"b","y":"c"d"},"batch":[${A}],"sentAt":"s"}`],
  ])('in which there is a fault is not absent: %s', (_, text) => {
    const { calls, parts } = find(text);
    expect(calls).toContain(A);
    for (const each of parts) {
      expect(each).toMatchObject({ integrations: expect.stringMatching(/^\{/) });
    }
  });

  test('holds for the calls before a broken one, also if the text ends before the envelope', () => {
    const text = `{"batch":[${A},{"e":"x"y"},${B}],"integrations":{"All":false},"sentAt":"s","wri`;
    const { calls, parts } = find(text);
    expect(calls).toContain(A);
    for (const each of parts) {
      expect(each).toMatchObject({ integrations: '{"All":false}', sentAt: '"s"' });
    }
  });

  test('of a call with a fault is none of the envelope', () => {
    const { calls, parts } = find(`{"integrations":{"All":"fal"se"},"type":"t"},${B}${END}`);
    expect(calls).toEqual([B]);
    expect(parts).toEqual([{ sentAt: '"s"', writeKey: '"k"' }]);
  });

  test('behind a bracket too many belongs to the envelope before it', () => {
    expect(find(`{"batch":[${A}]},"integrations":{"All":false}}`).parts).toEqual([
      { integrations: '{"All":false}' },
    ]);
  });

  test('may stand in what is not read', () => {
    const text = `{"batch":[${A},${'{"a":1]'.repeat(1_100)}],"integrations":{"All":false}}`;
    expect(find(text).parts[0]).toMatchObject({ integrations: expect.stringMatching(/All/) });
  });
});

test('measures each call', () => {
  const { found } = find(`{"context":{},"batch":[{"a":1},{"a":{"b":[[],{"c":1}]}}${END}`);
  expect(found.pieces).toMatchObject([
    { depth: 1, containers: 1, keys: 1 },
    { depth: 4, containers: 5, keys: 3 },
  ]);
});

describe('the bytes that are read', () => {
  const repeated = (part: string) => part.repeat(Math.ceil(5_000 / part.length));

  /** Returns how often a byte of the text is read. */
  const readsOf = (text: string) => {
    let reads = 0;
    const counting = new Proxy(Buffer.from(text), {
      get(bytes, key) {
        if (typeof key === 'string' && key.charCodeAt(0) <= 0x39) reads++;
        const value: unknown = Reflect.get(bytes, key, bytes);
        return typeof value === 'function' ? value.bind(bytes) : value;
      },
    });
    finish(findCalls(counting, 5_000));
    return reads;
  };

  test.each([
    ['calls', `{"batch":[${repeated(`${A},`)}`],
    ['numbers', `{"batch":[${repeated('0,')}`],
    ['quotes', repeated('"')],
    ['backslashes', repeated('\\')],
    ['quotes and words', repeated('"a')],
    ['words and texts', repeated('a"b"')],
    ['faults of quotes', `{"batch":[${repeated('{"a"b"},')}`],
    ['faults of brackets', `{"batch":[${repeated('{[}]')}`],
    ['faults of colons', `{"batch":[${repeated('"a":1,')}`],
    ['opening brackets', repeated('[')],
    ['closing brackets', repeated('}]')],
    ['objects without keys', repeated('{{')],
    ['blanks', `${repeated(' ')}:${repeated('[:')}`],
    ['starts of envelopes', repeated('{"batch":[')],
    ['ends of envelopes', repeated('],"sentAt":"s"}')],
    ['escapes', repeated('"\\"')],
    ['what a backslash leaves open', repeated('{"a\\')],
  ])('are a fixed multiple of the text: %s', (_, text) => {
    expect(readsOf(text) / text.length).toBeLessThan(6);
  });
});
