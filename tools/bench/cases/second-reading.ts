import { parseBody, validateCalls } from '../../../services/ingest/calls/validate-request';
import { median } from '../arithmetic';

/**
 * What a broken batch costs ingest, which reads it a second time, call by call: its CPU time as a
 * multiple of a clean batch of as many bytes and calls.
 */

const CALLS = 2_500;
const ROUNDS = 15;
const WARM_UP = 5;

const repeated = (call: string) => `${call},`.repeat(CALLS);

/** Each of the calls is cut by a word that is no JSON. */
export const CUT_CALLS = `{"batch":[${repeated('{"type":"page","userId":"u","a":x1}')}`;
/** The start is missing, so that every bracket counts; the calls are for the key of nobody. */
export const MISSING_START = `x"},${repeated('{"type":"page","userId":"u","a":11}')}{}],"writeKey":"nobody"}`;
const CLEAN = `{"batch":[${repeated('{"type":"page","userId":"u","a":11}').slice(0, -1)}]}`;

/** @returns the dearer of both kinds: × the clean batch */
export function secondReading(): number {
  const [cut, missing, clean] = [CUT_CALLS, MISSING_START, CLEAN].map((text) => Buffer.from(text));
  const times: number[][] = [[], [], []];
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    [cut, missing, clean].forEach((body, i) => {
      const micros = body ? microsOf(body) : NaN;
      if (round >= WARM_UP) times[i]?.push(micros);
    });
  }
  const [ofCut = NaN, ofMissing = NaN, ofClean = NaN] = times.map(median);
  return Math.max(ofCut, ofMissing) / ofClean;
}

function microsOf(body: Buffer): number {
  const before = process.cpuUsage();
  const parsed = parseBody(body, 'batch');
  if (!('code' in parsed)) {
    let made = 0;
    const receipt = {
      now: 0,
      makeId: () => String(made++),
      isOwnKey: () => false,
    };
    validateCalls(parsed, receipt);
  }
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
