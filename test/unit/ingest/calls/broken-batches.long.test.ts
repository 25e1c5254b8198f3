import { isFault } from '../../../../services/ingest/calls/parse-batch';
import { parseBody, validateCalls } from '../../../../services/ingest/calls/validate-request';
import { finish } from '../../../../services/ingest/calls/steps';
import { randomOf } from '../../../../tools/harness/random';
import { fewerCases, seedOf } from '../../../support/cases';
import {
  aBrokenBatch,
  aDamagedBatch,
  aLooseBatch,
  aRestartedBatch,
  holdsCallInText,
} from '../../../support/broken-batches';

/** Broken bodies, made of calls of real clients. `FUZZ_SEED=<number>` repeats a run. */

const SEED = seedOf('FUZZ_SEED');

beforeAll(() => void process.stdout.write(`broken batches: FUZZ_SEED=${SEED}\n`));

function validated(body: Buffer) {
  const parsed = finish(parseBody(body, 'batch'));
  if (isFault(parsed)) return { accepted: [], rejected: [] };
  const receipt = { now: 0, makeId: () => 'made', isOwnKey: (key: string) => key === 'key-1' };
  return finish(validateCalls(parsed, receipt));
}

/** Returns the ids of the accepted calls, in their order. */
function accepted(body: Buffer): string[] {
  return validated(body).accepted.map(({ message }) => message.messageId);
}

test('of many broken bodies each whole call of the array is accepted once, no others', () => {
  const random = randomOf(SEED);
  const bodies = fewerCases(10_000);
  let callsInTexts = 0;
  for (let i = 0; i < bodies; i++) {
    const { body, whole } = aBrokenBatch(random);
    const ids = accepted(body);
    if (holdsCallInText(body)) callsInTexts++;
    // Comparing each by `expect` takes longer than all the rest.
    if (ids.join() !== whole.join()) {
      expect({ SEED, i, body: body.toString(), ids }).toMatchObject({ ids: whole });
    }
  }
  expect(callsInTexts / bodies).toBeGreaterThan(0.5);
});

test('of bodies that were begun anew each whole call is accepted once, no others', () => {
  const random = randomOf(SEED);
  for (let i = 0; i < fewerCases(2_000); i++) {
    const { body, whole } = aRestartedBatch(random);
    const ids = accepted(body);
    if (ids.join() !== whole.join()) {
      expect({ SEED, i, body: body.toString(), ids }).toMatchObject({ ids: whole });
    }
  }
});

test('of bodies without commas and with brackets too many, the envelope holds', () => {
  const random = randomOf(SEED);
  for (let i = 0; i < fewerCases(2_000); i++) {
    const { body, whole, isOther } = aLooseBatch(random);
    const calls = validated(body);
    const ids = calls.accepted.map(({ message }) => message.messageId);
    const isExcluded = calls.accepted.every(({ value }) => value.includes('"All":false'));
    const isRefused = calls.rejected.every(({ code }) => code === 'other_write_key');
    const expected = isOther && !isValid(body) ? [] : whole;
    if (ids.join() !== expected.join() || !isExcluded || !isRefused) {
      expect({ SEED, i, body: body.toString(), ids, isExcluded, isRefused }).toEqual({
        ids: expected,
      });
    }
  }
});

/** Valid JSON is read once: its envelope may name another key. */
function isValid(body: Buffer): boolean {
  try {
    JSON.parse(body.toString());
    return true;
  } catch {
    return false;
  }
}

test('a character missing or too many in a call lets no call in, and costs few others', () => {
  const random = randomOf(SEED);
  let others = 0;
  let kept = 0;
  for (let i = 0; i < fewerCases(5_000); i++) {
    const { body, whole, damaged } = aDamagedBatch(random);
    const ids = accepted(body);
    const decoys = ids.filter((id) => id.startsWith('decoy'));
    // The damaged call itself may have lost its id, or have another one.
    const unknown = new Set(ids.filter((id) => !whole.includes(id)));
    const isWrong = decoys.length > 0 || unknown.size > 1 || new Set(ids).size < ids.length;
    if (isWrong) expect({ SEED, i, body: body.toString(), ids }).toBe('calls of the array only');
    others += whole.length - 1;
    kept += ids.filter((id) => whole.includes(id) && id !== whole[damaged]).length;
  }
  expect(kept / others).toBeGreaterThan(0.9);
});
