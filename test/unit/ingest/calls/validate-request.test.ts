import fc from 'fast-check';
import {
  validateCalls,
  MAX_MERGED_BYTES,
  parseBody,
  type ValidatedCalls,
} from '../../../../services/ingest/calls/validate-request';
import { finish } from '../../../../services/ingest/calls/steps';
import {
  isFault,
  type ParsedRequest,
  type RequestFault,
} from '../../../../services/ingest/calls/parse-batch';
import { type CallType, type Message } from '../../../../shared/model/message';

const receivedAt = '2026-11-21T08:20:00.000Z';
const now = Date.parse(receivedAt);

function take(body: unknown, kind: CallType | 'batch' = 'batch'): ValidatedCalls | RequestFault {
  const text = Buffer.isBuffer(body)
    ? body
    : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const parsed = finish(parseBody(text, kind));
  let made = 0;
  if (isFault(parsed)) return parsed;
  const receipt = { now, makeId: () => `made-${++made}`, isOwnKey: () => true };
  return finish(validateCalls(parsed, receipt));
}

function verdicts(body: unknown, kind?: CallType): ValidatedCalls {
  const result = take(body, kind);
  if (isFault(result)) throw new Error(`refused: ${result.code}`);
  return result;
}

/** The one accepted message of a batch of one, as read from its record. */
function message(call: object, envelope: object = {}): Message {
  const { accepted, rejected } = verdicts({ ...envelope, batch: [call] });
  expect(rejected).toEqual([]);
  return JSON.parse(accepted[0]!.value) as Message;
}

const track = { type: 'track', userId: 'u', event: 'e' };

describe('which calls are accepted', () => {
  test.each([
    ['track', { type: 'track', userId: 'u', event: 'e' }],
    ['anonymous', { type: 'track', anonymousId: 'a', event: 'e' }],
    ['identify', { type: 'identify', userId: 'u' }],
    ['page without a name', { type: 'page', anonymousId: 'a' }],
    ['screen', { type: 'screen', userId: 'u', name: 'Home' }],
    ['group', { type: 'group', userId: 'u', groupId: 'g' }],
    ['anonymous group', { type: 'group', anonymousId: 'a', groupId: 7 }],
    ['alias', { type: 'alias', userId: 'u', previousId: 'p' }],
    ['numeric ids', { type: 'track', userId: 0, event: 'e' }],
    [
      'ids of 512 bytes',
      {
        type: 'group',
        userId: 'x'.repeat(512),
        anonymousId: 'é'.repeat(256),
        groupId: '€'.repeat(170),
      },
    ],
    ['messageId of 99', { ...track, messageId: 'x'.repeat(99) }],
    ['empty PHP maps', { ...track, properties: [], context: [], integrations: [] }],
  ])('%s', (_, call) => {
    expect(verdicts({ batch: [call] })).toMatchObject({ rejected: [], accepted: [{}] });
  });

  test.each([
    ['invalid_call', 'a text', 'track'],
    ['invalid_call', 'null', null],
    ['invalid_call', 'an array', []],
    ['invalid_call', 'a number', 3],
    ['invalid_type', 'no type', { userId: 'u', event: 'e' }],
    ['invalid_type', 'unknown type', { type: 'Track', userId: 'u', event: 'e' }],
    ['invalid_type', 'a type of our own', { type: 'delete', userId: 'u' }],
    ['invalid_type', 'a type that every object has', { type: 'constructor', userId: 'u' }],
    ['invalid_type', 'a type that is an object', { type: {}, userId: 'u' }],
    ['no_user_anon_id', 'no ids', { type: 'track', event: 'e' }],
    ['no_user_anon_id', 'ids of null (Python)', { type: 'page', userId: null, anonymousId: null }],
    ['no_user_anon_id', 'empty ids', { type: 'screen', userId: '', anonymousId: '' }],
    ['missing_event', 'track without event', { type: 'track', userId: 'u' }],
    ['missing_event', 'empty event', { type: 'track', userId: 'u', event: '' }],
    ['invalid_field', 'event that is a number', { type: 'track', userId: 'u', event: 5 }],
    ['missing_group_id', 'group without groupId', { type: 'group', userId: 'u' }],
    [
      'missing_user_id',
      'alias without userId',
      { type: 'alias', anonymousId: 'a', previousId: 'p' },
    ],
    ['missing_previous_id', 'alias without previousId', { type: 'alias', userId: 'u' }],
    ['invalid_field', 'userId that is an object', { type: 'page', userId: { id: 1 } }],
    ['invalid_field', 'userId that is a boolean', { type: 'page', userId: true }],
    ['invalid_field', 'properties that are a text', { ...track, properties: 'x' }],
    ['invalid_field', 'traits that are an array', { ...track, traits: [1] }],
    ['invalid_field', 'context that is a number', { ...track, context: 1 }],
    ['invalid_field', 'integrations that are a text', { ...track, integrations: 'All' }],
    ['invalid_field', 'name that is an object', { type: 'page', userId: 'u', name: {} }],
    ['message_id_too_long', 'messageId of 100', { ...track, messageId: 'x'.repeat(100) }],
    ['id_too_long', 'userId of 513 bytes', { ...track, userId: 'x'.repeat(513) }],
    [
      'id_too_long',
      'anonymousId of 514 bytes in 257 characters',
      { ...track, anonymousId: 'é'.repeat(257) },
    ],
    [
      'id_too_long',
      'groupId of 20 KB',
      { type: 'group', userId: 'u', groupId: 'x'.repeat(20_000) },
    ],
    [
      'id_too_long',
      'previousId of 513 bytes',
      { type: 'alias', userId: 'u', previousId: 'x'.repeat(513) },
    ],
    [
      'call_too_large',
      'more than 32,768 bytes',
      { ...track, properties: { pad: 'x'.repeat(32_768) } },
    ],
  ])('%s: %s, and its neighbours stay', (code, _, call) => {
    const { accepted, rejected } = verdicts({ batch: [track, call, track] });
    expect(accepted).toHaveLength(2);
    expect(rejected).toEqual([{ index: 1, code, message: expect.any(String) }]);
  });

  test('a numeric id that no double holds is a text with its digits', () => {
    const call = `{"type":"alias","userId":9007199254740993,"previousId":-7615917337495251231,"messageId":1e400}`;
    const { accepted, rejected } = verdicts(`{"batch":[${call}]}`);
    expect(rejected).toEqual([]);
    expect(accepted[0]?.message).toMatchObject({
      userId: '9007199254740993',
      previousId: '-7615917337495251231',
      messageId: '1e400',
    });
  });

  test('a number that no double holds is neither an object nor a text', () => {
    for (const field of ['properties', 'context', 'event', 'name']) {
      const { rejected } = verdicts(
        `{"batch":[{"type":"page","userId":"u","${field}":12345678901234567890}]}`,
      );
      expect(rejected[0]).toMatchObject({ code: 'invalid_field' });
    }
  });

  test('a single call larger than a call may be is rejected, spaces counted', () => {
    const text = JSON.stringify(track);
    const atLimit = text.replace('{', `{${' '.repeat(32_768 - text.length)}`);
    expect(verdicts(atLimit, 'track').rejected).toEqual([]);
    expect(verdicts(atLimit.replace('{', '{ '), 'track').rejected[0]).toMatchObject({
      code: 'call_too_large',
    });
  });
});

describe('which requests are refused', () => {
  const calls = (n: number, call: object = track) => Array.from({ length: n }, () => call);
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

  test.each([
    ['invalid_json', 'nothing', ''],
    ['invalid_json', 'half of it', '{"batch":[{"type"'],
    ['invalid_json', 'no JSON', 'data=eyJ9'],
    ['invalid_body', 'an array', '[]'],
    ['invalid_body', 'null', 'null'],
    ['invalid_body', 'a text', '"batch"'],
    ['missing_batch', 'no batch', '{"type":"track"}'],
    ['invalid_batch', 'batch that is an object', '{"batch":{}}'],
    ['invalid_batch', 'batch that is a text', '{"batch":"x"}'],
    ['invalid_envelope', 'context that is a text', '{"batch":[],"context":"x"}'],
    ['invalid_envelope', 'integrations that are an array', '{"batch":[],"integrations":["All"]}'],
    [
      'too_deep',
      '101 levels',
      `{"batch":[{"type":"page","userId":"u","properties":{"a":${nested(97)}}}]}`,
    ],
    ['too_deep', '200,000 levels', nested(200_000)],
    ['too_complex', '170,000 arrays', `{"batch":[[${'[],'.repeat(150_000)}[]]]}`],
    [
      'invalid_encoding',
      'a byte that is not UTF-8 in its only call',
      Buffer.from('{"batch":[{"type":"\xe9"}]}', 'latin1'),
    ],
  ])('%s: %s', (code, _, body) => {
    expect(take(body)).toMatchObject({ code, message: expect.any(String) });
  });

  test.each([
    ['a null batch (Go v2.0.0)', '{"batch":null}'],
    ['an empty batch', '{"batch":[]}'],
    ['a null envelope', '{"batch":[],"context":null,"integrations":null,"sentAt":null}'],
    ['a byte order mark', '\ufeff{"batch":[]}'],
    ['100 levels', `{"batch":[],"context":{"a":${nested(98)}}}`],
  ])('but not %s', (_, body) => {
    expect(verdicts(body)).toEqual({ accepted: [], rejected: [] });
  });

  test('2,500 calls are accepted', () => {
    expect(verdicts({ batch: calls(2_500) }).accepted).toHaveLength(2_500);
  });

  test.each([
    ['spaces', `{"pad":1${' '.repeat(30_000)}}`],
    ['escapes', `{"pad":"${'\\u00e9'.repeat(300)}"}`],
  ])('%s of an envelope count as written out, and not as sent', (_, context) => {
    const text = `{"context":${context},"batch":${JSON.stringify(calls(1_500))}}`;
    expect(verdicts(text).accepted).toHaveLength(1_500);
  });

  test('all that is accepted of one request stays below the limit, written out', () => {
    const context = { pad: 'x'.repeat(20_000) };
    const { accepted } = verdicts({ batch: calls(100), context });
    const bytes = accepted.reduce((sum, { value }) => sum + Buffer.byteLength(value), 0);
    expect(bytes).toBeLessThanOrEqual(MAX_MERGED_BYTES);
  });
});

describe('a fault that concerns several calls', () => {
  const calls = (n: number, call: object = track) => Array.from({ length: n }, () => call);
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  const deep = `{"type":"page","userId":"u","properties":{"a":${nested(97)}}}`;
  const codes = (rejected: ValidatedCalls['rejected']) => [
    ...new Set(rejected.map(({ code }) => code)),
  ];

  test('a call behind the limit is rejected, and those before it stay', () => {
    const { accepted, rejected } = verdicts({ batch: calls(2_502) });
    expect(accepted).toHaveLength(2_500);
    expect(rejected.map(({ index, code }) => [index, code])).toEqual([
      [2_500, 'too_many_calls'],
      [2_501, 'too_many_calls'],
    ]);
  });

  test.each([
    ['valid JSON', ']'],
    ['broken JSON', ',,'],
  ])('250,000 calls of %s are counted, and named up to 5,000', (_, end) => {
    const { accepted, rejected } = verdicts(
      `{"batch":[${'1,'.repeat(2_499)}${JSON.stringify(track)}${',1'.repeat(240_000)}${end}}`,
    );
    expect(accepted).toHaveLength(1);
    expect(rejected).toHaveLength(5_000);
    expect(rejected.at(-1)).toMatchObject({ index: 5_000, code: 'too_many_calls', count: 237_500 });
  });

  test('behind 1,000 calls that are no JSON none is read', () => {
    const { accepted, rejected } = verdicts(
      `{"batch":[${'{"a":x},'.repeat(999)}${JSON.stringify(track)},{"a":x},${JSON.stringify(track)}]}`,
    );
    expect(accepted).toHaveLength(1);
    expect(rejected).toHaveLength(1_001);
    expect(rejected.at(-1)).toMatchObject({
      index: 1_001,
      code: 'unreadable',
      message: 'The call was not read: 1000 calls before it are not valid JSON.',
    });
  });

  test.each([
    [
      '2,500 keys in each of 2,500 calls',
      Object.fromEntries(Array.from({ length: 2_500 }, (_, i) => [`k${i}`, 1])),
    ],
    ['80 MB of 60 KB', { pad: 'x'.repeat(32_000) }],
  ])(
    'of calls that are too large with their envelope, those that fit are accepted: %s',
    (_, context) => {
      const { accepted, rejected } = verdicts({ batch: calls(2_500), context });
      const bytes = accepted.reduce((sum, { value }) => sum + Buffer.byteLength(value), 0);
      expect(bytes).toBeLessThanOrEqual(MAX_MERGED_BYTES);
      expect(bytes).toBeGreaterThan(MAX_MERGED_BYTES - 40_000);
      expect(codes(rejected)).toEqual(['merged_too_large']);
      expect(accepted.length + rejected.length).toBe(2_500);
    },
  );

  test.each([
    ['invalid_envelope', 'a text', 'x'],
    ['invalid_envelope', 'a number', 5],
    ['invalid_envelope', 'a list', [1]],
    ['envelope_too_large', 'too large', { pad: 'x'.repeat(32_768) }],
  ])('%s: calls do without a context that is %s, and the loss is shown', (code, _, context) => {
    const text = Buffer.from(
      JSON.stringify({ batch: [track, track], context, integrations: { All: true } }),
    );
    const parsed = finish(parseBody(text, 'batch')) as ParsedRequest;
    const { accepted, rejected } = verdicts(text);
    expect(rejected).toEqual([]);
    for (const { value } of accepted) {
      expect(JSON.parse(value)).toMatchObject({ integrations: { All: true } });
    }
    for (const { value } of accepted) expect(value).not.toContain('context');
    expect(accepted).toHaveLength(2);
    expect(parsed.lost.map((lost) => [lost.code, lost.excerpt?.().text])).toEqual([
      [code, expect.stringMatching(/^\{"context":/)],
    ]);
  });

  test.each([
    ['invalid_envelope', 'a text', 'x'],
    ['invalid_envelope', 'a list', ['All']],
    ['envelope_too_large', 'too large', { pad: 'x'.repeat(32_768) }],
  ])(
    '%s: no call is accepted if `integrations`, which may exclude webhooks, are %s',
    (code, _, integrations) => {
      const { accepted, rejected } = verdicts({ batch: [track, track], integrations });
      expect(accepted).toEqual([]);
      expect(rejected.map((each) => each.code)).toEqual([code, code]);
    },
  );

  test.each([
    ['too_deep', deep],
    ['call_too_large', `{${'"a":1,'.repeat(70_000)}"a":1}`],
    [
      'too_complex',
      `{"type":"track","userId":"u","event":"e","properties":{"a":[${'[],'.repeat(10_000)}1]}}`,
    ],
    ['invalid_call', '[[[]]]'],
  ])('%s costs only its call', (code, call) => {
    const filler = Array.from(
      { length: 2_000 },
      () => '{"type":"page","userId":"u","properties":{"a":[[],[],[],[],[]]}}',
    );
    const { accepted, rejected } = verdicts(
      `{"batch":[${[...filler, call, deep].join(',')}],"context":{"k":1}}`,
    );
    expect(accepted).toHaveLength(2_000);
    expect(accepted.every(({ value }) => value.endsWith('"context":{"k":1}}'))).toBe(true);
    expect(rejected).toMatchObject([
      { index: 2_000, code },
      { index: 2_001, code: 'too_deep' },
    ]);
  });

  test('a context that is nested too deep costs no call', () => {
    const text = `{"batch":[${JSON.stringify(track)}],"context":{"a":${nested(200)}}}`;
    expect(verdicts(text)).toMatchObject({ accepted: [{}], rejected: [] });
    expect(finish(parseBody(Buffer.from(text), 'batch'))).toMatchObject({
      lost: [{ code: 'invalid_envelope' }],
    });
  });

  test('bytes that are not UTF-8 cost only their call', () => {
    const bad = Buffer.from('{"type":"page","userId":"Zo\xeb"}', 'latin1');
    const parts = [
      '{"batch":[',
      JSON.stringify({ ...track, event: 'Zoë' }),
      ',',
      bad,
      ',',
      JSON.stringify(track),
      ']}',
    ];
    const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
    const parsed = finish(parseBody(body, 'batch')) as ParsedRequest;
    expect(verdicts(body)).toMatchObject({
      accepted: [{}, {}],
      rejected: [{ index: 1, code: 'invalid_encoding' }],
    });
    expect(parsed.faults.get(1)?.excerpt?.()).toEqual({
      text: '{"type":"page","userId":"Zo\\xEB"}',
      truncated: false,
    });
  });
});

describe('the accepted message', () => {
  test('of Go v2: the library from the envelope, the time with +0000', () => {
    const body = {
      context: { library: { name: 'analytics-go', version: '2.1.0' } },
      messageId: 'cbd4',
      sentAt: '2026-11-21T08:19:06+0000',
      batch: [
        {
          integrations: { All: false, Webhooks: true },
          traits: {},
          userId: 'u',
          groupId: 'g',
          type: 'group',
          messageId: 'ba75',
          timestamp: '2026-11-21T08:19:04+0000',
        },
      ],
    };
    const value = JSON.parse(verdicts(body).accepted[0]!.value) as unknown;
    expect(value).toEqual({
      type: 'group',
      messageId: 'ba75',
      timestamp: '2026-11-21T08:19:58.000Z',
      receivedAt,
      originalTimestamp: '2026-11-21T08:19:04+0000',
      sentAt: '2026-11-21T08:19:06+0000',
      integrations: { All: false, Webhooks: true },
      traits: {},
      userId: 'u',
      groupId: 'g',
      context: { library: { name: 'analytics-go', version: '2.1.0' } },
    });
  });

  test('of a browser: without its write key and metadata, type from the path', () => {
    const call = {
      ...track,
      type: 'page',
      writeKey: 'secret',
      _metadata: { bundled: [] },
      channel: 'browser',
    };
    const value = verdicts(call, 'track').accepted[0]!.value;
    expect(value).not.toContain('secret');
    expect(JSON.parse(value)).toEqual({
      type: 'track',
      messageId: 'made-1',
      timestamp: receivedAt,
      receivedAt,
      userId: 'u',
      event: 'e',
      channel: 'browser',
    });
  });

  test.each([
    [
      'null is absent',
      { ...track, anonymousId: null, category: null, other: null },
      { userId: 'u' },
    ],
    ['null within is data', { ...track, properties: { a: null } }, { properties: { a: null } }],
    [
      'numbers become texts',
      { ...track, userId: 42, anonymousId: 1.5 },
      { userId: '42', anonymousId: '1.5' },
    ],
    ['a number as messageId', { ...track, messageId: 7 }, { messageId: '7' }],
    ['no messageId', track, { messageId: 'made-1' }],
    ['an empty messageId', { ...track, messageId: '' }, { messageId: 'made-1' }],
    [
      'unknown fields stay',
      { ...track, channel: 'server', mine: [1] },
      { channel: 'server', mine: [1] },
    ],
    [
      'Rudder time',
      { ...track, originalTimestamp: '2012-01-01T00:00:00Z' },
      { timestamp: '2012-01-01T00:00:00.000Z' },
    ],
    [
      'timestamp before originalTimestamp',
      { ...track, timestamp: '2012-01-01T00:00:00Z', originalTimestamp: '2026-01-01T00:00:00Z' },
      { timestamp: '2012-01-01T00:00:00.000Z', originalTimestamp: '2012-01-01T00:00:00Z' },
    ],
    ['our receivedAt', { ...track, receivedAt: '1999-01-01T00:00:00.000Z' }, { receivedAt }],
    [
      'identify without traits',
      { type: 'identify', userId: 'u', context: { traits: { a: 1 } } },
      { traits: { a: 1 }, context: { traits: { a: 1 } } },
    ],
    [
      'identify with traits',
      { type: 'identify', userId: 'u', traits: {}, context: { traits: { a: 1 } } },
      { traits: {} },
    ],
  ])('%s', (_, call, expected) => {
    expect(message(call)).toMatchObject(expected);
  });

  test('absent fields are not there, rather than null', () => {
    const keys = Object.keys(message({ ...track, anonymousId: null, context: null }));
    expect(keys.sort()).toEqual([
      'event',
      'messageId',
      'receivedAt',
      'timestamp',
      'type',
      'userId',
    ]);
  });

  test("envelope context and integrations are merged, one level, the call's own keys win", () => {
    const envelope = {
      context: { library: { name: 'go' }, ip: '1' },
      integrations: { All: false, Webhooks: false },
    };
    const call = {
      ...track,
      context: { library: { version: '2' } },
      integrations: { Webhooks: true },
    };
    expect(message(call, envelope)).toMatchObject({
      context: { library: { version: '2' }, ip: '1' },
      integrations: { All: false, Webhooks: true },
    });
  });

  test('context.integrations stay where they are: the router knows them', () => {
    expect(message({ ...track, context: { integrations: { All: false } } }).context).toEqual({
      integrations: { All: false },
    });
  });

  test("a call's own sentAt wins over the envelope's", () => {
    const call = { ...track, timestamp: '2026-11-21T08:00:00Z', sentAt: '2026-11-21T08:00:07Z' };
    expect(message(call, { sentAt: '2026-11-21T09:00:00Z' }).timestamp).toBe(
      '2026-11-21T08:19:53.000Z',
    );
  });

  test('`__proto__` sets no prototype anywhere', () => {
    const proto = '"__proto__":{"polluted":true,"userId":"evil"}';
    const body = `{${proto},"context":{${proto},"x":1},"batch":[{${proto},"type":"track","anonymousId":"a","event":"e",
      "context":{${proto},"y":1},"properties":{${proto}}}]}`;
    const { accepted } = verdicts(body);
    const kept = accepted[0]!.message;
    expect(kept.userId).toBeUndefined();
    expect(Object.getPrototypeOf(kept)).toBe(Object.prototype);
    expect(Object.getPrototypeOf(kept.context)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(accepted[0]!.value).toContain('"properties":{"__proto__":{"polluted":true');
  });

  test('keys named like methods are data', () => {
    const call = JSON.parse(
      '{"type":"page","userId":"u","toJSON":"x","constructor":1,"hasOwnProperty":2}',
    ) as object;
    expect(message(call)).toMatchObject({ toJSON: 'x', constructor: 1, hasOwnProperty: 2 });
  });

  test('whatever is sent, each call is accepted or rejected, and accepted ones are sound', () => {
    const value = fc.jsonValue({ maxDepth: 3 });
    const call = fc.record(
      {
        type: fc.oneof(
          fc.constantFrom('track', 'page', 'group', 'alias', 'identify', 'screen'),
          value,
        ),
        userId: fc.oneof(fc.string(), value),
        anonymousId: fc.oneof(fc.string(), value),
        event: fc.oneof(fc.string(), value),
        groupId: value,
        previousId: value,
        messageId: value,
        timestamp: value,
        traits: fc.oneof(fc.object(), value),
        context: value,
        integrations: value,
        ['__proto__']: value,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(call, value)), (batch) => {
        const { accepted, rejected } = verdicts({ batch });
        expect(accepted.length + rejected.length).toBe(batch.length);
        for (const { value: text } of accepted) {
          const written = JSON.parse(text) as Message;
          expect(written.messageId).toMatch(/^[^]{1,99}$/);
          expect(typeof (written.userId ?? written.anonymousId ?? '')).toBe('string');
          expect(Object.values(written)).not.toContain(null);
        }
      }),
    );
  });
});

test.each(['"2026-11-21T08:0', '17000', 'x"y"', ''])(
  'a `sentAt` of an envelope that is cut off or has a fault warns each call: %s',
  (sentAt) => {
    const { accepted } = verdicts(`{"batch":[${JSON.stringify(track)}],"sentAt":${sentAt}`);
    expect(accepted.map(({ warnings }) => warnings)).toEqual([['sent_at_unreadable']]);
  },
);

test.each([
  ['1000000000000000000000', '1000000000000000000000'],
  ['-1.5e21', '-1500000000000000000000'],
  ['100000000000000000000000', '100000000000000000000000'],
  ['1e-7', '1e-7'],
])('the number %s as an id becomes the text %s', (number, id) => {
  const { accepted } = verdicts(`{"batch":[{"type":"track","userId":${number},"event":"e"}]}`);
  expect(accepted.map(({ message }) => message.userId)).toEqual([id]);
});

describe('many different keys', () => {
  /** Returns so many properties, whose names no other prefix has. */
  const properties = (prefix: string, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i.toString(36)}`, 1]));

  function stepsOf(body: object): number {
    const work = parseBody(Buffer.from(JSON.stringify(body)), 'batch');
    let steps = 1;
    while (!work.next().done) steps++;
    return steps;
  }

  test('leave others their turn between any two calls of a batch, and cost it none', () => {
    const batch = Array.from({ length: 2_500 }, (_, i) => ({
      ...track,
      properties: properties(`${String(i)}-`, 10),
    }));
    expect(stepsOf({ batch })).toBeGreaterThan(batch.length);
    const { accepted, rejected } = verdicts({ context: { ip: '10.0.0.1' }, batch });
    expect([accepted.length, rejected]).toEqual([2_500, []]);
    expect(JSON.parse(accepted[7]!.value)).toMatchObject({
      properties: batch[7]!.properties,
      context: { ip: '10.0.0.1' },
    });
  });

  test('of the largest call are few enough', () => {
    const call = { ...track, properties: properties('', 4_000) };
    expect(JSON.stringify(call).length).toBeGreaterThan(30_000);
    expect(verdicts(call, 'track').accepted).toHaveLength(1);
  });

  test('beyond a call are refused', () => {
    const call = { ...track, properties: properties('', 12_000) };
    expect(take(call, 'track')).toMatchObject({ code: 'too_complex' });
  });
});
