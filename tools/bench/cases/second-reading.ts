import { parseBody, validateCalls } from '../../../services/ingest/calls/validate-request';
import { finish } from '../../../services/ingest/calls/steps';
import { median } from '../arithmetic';

/**
 * What a broken batch costs ingest, which reads it a second time, call by call: its CPU time as a
 * multiple of a clean batch of as many bytes and calls. Of the kinds of faults below each is the
 * worst for some part of the reader, so the dearest counts.
 */

const CALLS = 2_500;
const ROUNDS = 15;
const WARM_UP = 5;
const OWN_KEY = 'own';

/** Calls of a body of 90 KB, and of one of 500 KB. `#` stands for the value of a property. */
const SMALL = '{"type":"page","userId":"u","a":#}';
const LARGE =
  '{"type":"track","userId":"user-0001","event":"Order Completed","properties":' +
  '{"path":"/shop/checkout/done","title":"Thanks","total":#,"currency":"EUR","items":[1,2,3]},' +
  '"context":{"ip":"10.0.0.1"}}';

const NUMBER = '111';
const head = `{"writeKey":"${OWN_KEY}","batch":[`;
const repeated = (call: string, value: string) =>
  `${call.replace('#', value)},`.repeat(CALLS - 1) + call.replace('#', value);

const clean = (call: string) => `${head}${repeated(call, NUMBER)}]}`;
/** Each of the calls is cut by a word that is no JSON. */
const cutCalls = (call: string) => `${head}${repeated(call, 'x11')}`;
/** The start is missing, so that every bracket counts; the calls are for the key of nobody. */
const missingStart = (call: string) => `x"},${repeated(call, NUMBER)},{}],"writeKey":"nobody"}`;
const BROKEN: readonly ((call: string) => string)[] = [
  cutCalls,
  missingStart,
  // The first reading comes to the end, and all calls are accepted by the second.
  (call) => `${head}${repeated(call, NUMBER)}]`,
  // Each call is repaired.
  (call) => `${head}${repeated(call, 'NaN')}]}`,
  (call) => `${head},${repeated(call, NUMBER)}]}`,
  // Every call may be an envelope of its own.
  (call) => `{"batch":[${call.replace('#', NUMBER)}]}`.repeat(CALLS),
];

/** Members that each call has itself, or the envelope that it has for itself. */
const MEMBERS = `"context":{"a":1},"integrations":{},"sentAt":"2026-01-01T00:00:00Z","writeKey":"${OWN_KEY}"`;
const WITH_MEMBERS = SMALL.replace('}', `,${MEMBERS}}`);
const ENVELOPES = `{${MEMBERS},"batch":[${SMALL.replace('#', NUMBER)}]}`.repeat(CALLS);

export const CUT_CALLS = cutCalls(SMALL);
export const MISSING_START = missingStart(SMALL);

/** @returns the dearest of all kinds: × the clean batch */
export function secondReading(): number {
  return Math.max(
    ...[SMALL, LARGE].map((call) =>
      dearest(
        clean(call),
        BROKEN.map((textOf) => textOf(call)),
      ),
    ),
    dearest(clean(WITH_MEMBERS), [ENVELOPES]),
  );
}

/** @returns × the clean batch, by byte */
function dearest(cleanText: string, brokenTexts: readonly string[]): number {
  const bodies = [cleanText, ...brokenTexts].map((text) => Buffer.from(text));
  const times: number[][] = bodies.map(() => []);
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    for (const [i, body] of bodies.entries()) {
      const micros = microsOf(body);
      if (round >= WARM_UP) times[i]?.push(micros / body.length);
    }
  }
  const [ofClean = NaN, ...ofBroken] = times.map(median);
  return Math.max(...ofBroken) / ofClean;
}

function microsOf(body: Buffer): number {
  const before = process.cpuUsage();
  const parsed = finish(parseBody(body, 'batch'));
  if (!('code' in parsed)) {
    let made = 0;
    const receipt = {
      now: 0,
      makeId: () => String(made++),
      isOwnKey: (key: string) => key === OWN_KEY,
    };
    finish(validateCalls(parsed, receipt));
  }
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
