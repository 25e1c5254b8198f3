import { type Random } from '../../tools/harness/random';
import { recordedRequests } from './recorded';

/**
 * Makes bodies as broken as phones write them, of calls of real clients. It knows which calls it
 * left whole at the level of the array; any other call in the text stands in a text or in another
 * object, and its id begins with `decoy`.
 */

export interface BrokenBatch {
  body: Buffer;
  /** ids of the whole calls, in the order of the text */
  whole: string[];
}

type Call = Record<string, unknown>;

const CALLS: readonly Call[] = recordedRequests()
  .flatMap(({ body, path }) => {
    const { batch } = body as { batch?: Call[] };
    return batch ?? [{ ...body, type: (body as Call).type ?? path.split('/').at(-1) }];
  })
  // Those of the envelope hold for calls that have none.
  .map((call) => ({ ...call, integrations: undefined }));

const SEPARATORS = [',', ',', ',', '', ',,', ' , ', '\0', ',\0', '\0,\0', '\n', ',\n,'];
const HEADS = [
  '{"batch":[',
  '{ "batch": [',
  '{"context":{"app":{"name":"a"}},"batch":[',
  '{"sentAt":null,"batch":[,',
];
const TAILS = [
  '],"sentAt":"2026-11-21T08:19:04.000Z","writeKey":"key-1"}',
  ']}',
  '],"writeKey":"key-1"}',
  '] }\n',
];

let made = 0;

/** Where a call holds whole calls that are none. */
type Decoys = 'none' | 'in texts' | 'in objects';

function someDecoys(random: Random): Decoys {
  const place = random.next();
  return place < 0.65 ? 'in texts' : place < 0.85 ? 'in objects' : 'none';
}

/** A call inside a text of another one. */
const CALL_IN_TEXT = '\\"messageId\\":\\"decoy-';

/** Whether a text of the body holds a call. */
export function holdsCallInText(body: Buffer): boolean {
  return body.includes(CALL_IN_TEXT);
}

function aCall(
  random: Random,
  kind: 'call' | 'decoy' | 'cut',
  withDecoys: Decoys,
): { id: string; text: string } {
  const id = `${kind}-${++made}`;
  const call: Call = { ...random.one(CALLS), messageId: id, userId: 'u' };
  if (withDecoys !== 'none') call.properties = decoys(random, withDecoys);
  let text = JSON.stringify(call);
  if (random.next() < 0.1) {
    text = text.replace(/^\{/, `{"score":${random.one(['NaN', 'Infinity', '-Infinity'])},`);
  }
  return { id, text };
}

/** Whole calls where no call can stand. */
function decoys(random: Random, place: Exclude<Decoys, 'none'>): unknown {
  const text = () => aCall(random, 'decoy', 'none').text;
  const call = () => JSON.parse(text().replace(/:-?(NaN|Infinity)/, ':null')) as unknown;
  const inTexts = [
    () => ({ note: `},${text()},{` }),
    () => ({ note: `"}]},{"batch":[${text()}]}`, last: text() }),
    () => ({ items: [[{ batch: [call(), call()] }]], note: `[${text()}` }),
  ];
  const inObjects = [
    () => ({ list: [{ sku: 1 }, call(), call()] }),
    () => ({ batch: [call()], sentAt: null, writeKey: 'key-1' }),
    () => call(),
  ];
  return random.one<() => unknown>(place === 'in texts' ? inTexts : inObjects)();
}

/**
 * A body with the faults that clients make: all of them stand between calls, or cut the first or
 * the last one.
 */
export function aBrokenBatch(random: Random): BrokenBatch {
  const withDecoys = someDecoys(random);
  const envelopes = Array.from({ length: random.one([1, 1, 1, 2, 3]) }, () =>
    Array.from({ length: random.between(1, 4) }, () => aCall(random, 'call', withDecoys)),
  );
  const startIsCut = random.next() < 0.3;
  const endIsCut = random.next() < 0.3;
  let text = '';
  const calls: { id: string; start: number; end: number }[] = [];
  let headEnd = 0;
  let tailStart = 0;
  let hasTail = true;
  let beganAnew = false;
  for (const [i, envelope] of envelopes.entries()) {
    // Of two envelopes one behind the other, the end of the first or the start of the second may be
    // missing. Two starts and one end in the middle are a whole envelope in another one, as in
    // valid JSON.
    const hasHead: boolean = i === 0 || startIsCut || beganAnew || random.next() < 0.7;
    if (hasHead) text += random.one(HEADS);
    beganAnew ||= hasHead && !hasTail;
    if (i === 0) headEnd = text.length;
    for (const { id, text: call } of envelope) {
      calls.push({ id, start: text.length, end: text.length + call.length });
      text += call + random.one(SEPARATORS);
    }
    tailStart = text.length;
    const isLast = i === envelopes.length - 1;
    hasTail = isLast || random.next() < 0.7;
    if (hasTail) text += random.one(TAILS);
    if (!isLast) text += random.one(['', ',', '\0', '\n']);
  }
  const [first] = calls;
  const last = calls.at(-1);
  if (!first || !last) throw new Error('a batch has calls');
  // Without an end, the rest of a call shows that the calls behind it stand in an array; or the
  // whole name of the array does.
  const cuts =
    endIsCut && random.next() < 0.9
      ? [headEnd + 1, first.end - 1]
      : [1, endIsCut || beganAnew ? text.indexOf('batch') : first.end];
  const cut = startIsCut ? random.between(cuts[0] ?? 1, cuts[1] ?? 1) : 0;
  // An array without a name is none of calls: `[{"type":…` is refused as JSON too.
  const from = /^\s*\[/.test(text.slice(cut, headEnd)) ? headEnd + 1 : cut;
  // What is cut at both ends within one call shows no array.
  const until = endIsCut
    ? random.between(Math.max(last.start, headEnd), text.length - 1)
    : text.length;
  const isOneCall = calls.length === 1 && startIsCut && endIsCut;
  const to = isOneCall ? text.length : Math.max(until, tailStart > first.end ? first.end : until);
  const whole = calls.filter(({ start, end }) => start >= from && end <= to).map(({ id }) => id);
  return { body: Buffer.from(text.slice(from, to)), whole };
}

/** Ends that name the time or the key of their envelope. */
const NAMED_TAILS = TAILS.filter((tail) => /sentAt|writeKey/.test(tail));

/**
 * A body that was cut off within a text of one of its calls, and whose client then began anew:
 * whole envelopes follow.
 */
export function aRestartedBatch(random: Random): BrokenBatch {
  const withDecoys = someDecoys(random);
  const before = Array.from({ length: random.between(0, 3) }, () =>
    aCall(random, 'call', withDecoys),
  );
  const cut = aCall(random, 'cut', withDecoys).text;
  // The first key of a call tells too little: the call before it is in doubt then.
  const texts = [...cut.matchAll(/"(?:[^"\\]|\\.)*"/g)].slice(2);
  const { index, 0: text } = random.one(texts);
  const head = random.one(HEADS) + before.map(({ text: call }) => `${call},`).join('');
  const envelopes = Array.from({ length: random.between(1, 3) }, () =>
    Array.from({ length: random.between(1, 3) }, () => aCall(random, 'call', withDecoys)),
  );
  const further = envelopes.map(
    (calls) =>
      random.one(HEADS) +
      calls.map(({ text: call }) => call + random.one(SEPARATORS)).join('') +
      random.one(NAMED_TAILS),
  );
  const body =
    head +
    cut.slice(0, index + random.between(1, text.length - 1)) +
    further.join(random.one(['', ',', '\0', '\n']));
  const whole = [...before, ...envelopes.flat()].map(({ id }) => id);
  return { body: Buffer.from(body), whole };
}

/** The members of an envelope in any order, some without a comma, and brackets too many. */
export function aLooseBatch(random: Random): BrokenBatch & { isOther: boolean } {
  const calls = Array.from({ length: random.between(1, 4) }, () =>
    aCall(random, 'call', random.one(['in texts', 'in objects'])),
  );
  const isOther = random.next() < 0.3;
  const members = [
    `"batch":[${calls.map(({ text }) => text).join(random.one(SEPARATORS))}]`,
    `"writeKey":"${isOther ? 'key-2' : 'key-1'}"`,
    '"integrations":{"All":false}',
    '"sentAt":"2026-11-21T08:19:04.000Z"',
  ];
  let text = '';
  for (let left = members.length; left > 0; left--) {
    const [member = ''] = members.splice(random.between(0, left - 1), 1);
    text += member + (left === 1 ? '' : random.one([',', ' ', '', '\0', ',,']));
  }
  const end = random.one(['}', '}}', '}}}', '} }\n}']);
  return { body: Buffer.from(`{${text}${end}`), whole: calls.map(({ id }) => id), isOther };
}

/** A whole batch, of which one call lost or gained a character of JSON. */
export function aDamagedBatch(random: Random): BrokenBatch & { damaged: number } {
  const calls = Array.from({ length: random.between(2, 5) }, () =>
    aCall(random, 'call', random.one(['in texts', 'in objects'])),
  );
  const damaged = random.between(0, calls.length - 1);
  const texts = calls.map(({ text }, i) => (i === damaged ? damage(random, text) : text));
  const body = Buffer.from(`${random.one(HEADS)}${texts.join(',')}${random.one(TAILS)}`);
  return { body, whole: calls.map(({ id }) => id), damaged };
}

function damage(random: Random, text: string): string {
  const marks = [...text.matchAll(/["{}[\]:,\\]/g)].map(({ index }) => index);
  const at = random.one(marks);
  if (random.next() < 0.6) return text.slice(0, at) + text.slice(at + 1);
  return (
    text.slice(0, at) + random.one(['"', '{', '}', '[', ']', ':', ',', '\\', 'x']) + text.slice(at)
  );
}
