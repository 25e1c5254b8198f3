import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Audiences } from '../../../services/audiences/audiences';
import {
  type Definition,
  Definitions,
  ofTrait,
} from '../../../services/audiences/definitions/compile';
import { type ConsumeOptions } from '../../../shared/kafka/port';
import { PROFILES, PROFILE_STATUS } from '../../../shared/kafka/topics';
import { createLog } from '../../../shared/telemetry/log';
import { eventually } from '../../support/eventually';
import { fakeConfig, fakeDeletions } from '../../support/fakes';
import { memoryLog, NOTHING_CONSUMED } from '../../support/memory-log';
import { A_DEFINITION } from '../../support/profiles';

/** When audiences computes profiles, and what it reports of them. */

const DAY_MS = 86_400_000;

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/**
 * Returns audiences on a log with or without profiles of earlier definitions.
 * @param defined what is defined; default: nothing
 */
function audiencesUnderTest(hasProfiles: boolean, defined: Definition[] = []) {
  const memory = memoryLog();
  let groups: ConsumeOptions[] = [];
  let definitions = new Definitions(defined);
  if (hasProfiles) memory.append([{ topic: PROFILES, key: 'kim', value: '{}' }]);
  const deletions = fakeDeletions();
  let deleted = (): void => undefined;
  let configured = (): void => undefined;
  const path = mkdtempSync(join(tmpdir(), 'waypost-audiences-'));
  const audiences = new Audiences({
    kafka: {
      ...memory.kafka,
      consume: (options) => {
        groups = [...groups, options];
        return Promise.resolve(NOTHING_CONSUMED);
      },
    },
    config: { ...fakeConfig(), onChange: (listener) => (configured = listener as () => void) },
    deletions: Object.assign(deletions, {
      onDeletion: (listener: () => void) => (deleted = listener),
    }),
    path,
    definitions: () => definitions,
    log: createLog('test', 'silent'),
    onFatal: (error) => {
      throw error;
    },
  });
  stops.push(async () => {
    await audiences.stop(5_000);
    rmSync(path, { recursive: true });
  });
  return {
    audiences,
    memory,
    isOpen: () => audiences.pipeline !== undefined,
    assign: (...partitions: number[]) => {
      for (const { rebalanceListener } of groups) {
        rebalanceListener?.onAssigned(new Set(partitions));
      }
    },
    changeConfig: () => configured(),
    undefine: () => {
      definitions = new Definitions([]);
      configured();
    },
    remove: (userId: string, agoMs: number) => {
      deletions.add({ userId, at: Date.now() - agoMs });
      deleted();
    },
  };
}

test.each<[string, boolean, number | undefined, boolean]>([
  ['nobody was deleted', true, undefined, false],
  ['a user was deleted within the week', true, 6 * DAY_MS, true],
  ['a user was deleted before', true, 8 * DAY_MS, false],
  ['a user was deleted, and there are no profiles', false, 0, false],
])('without definitions profiles are open or not, if %s', async (_, hasProfiles, agoMs, isOpen) => {
  const story = audiencesUnderTest(hasProfiles);
  if (agoMs !== undefined) story.remove('kim', agoMs);
  await story.audiences.start();
  expect(story.isOpen()).toBe(isOpen);
});

test('a deletion opens profiles of definitions that are gone, until Kafka drops it', async () => {
  const { audiences, isOpen, remove, changeConfig } = audiencesUnderTest(true);
  await audiences.start();
  expect(isOpen()).toBe(false);
  remove('kim', 0);
  await eventually(() => expect(isOpen()).toBe(true));
  const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 8 * DAY_MS);
  try {
    changeConfig();
    await eventually(() => expect(isOpen()).toBe(false));
  } finally {
    clock.mockRestore();
  }
});

test('a deleted definition leaves no status, also of a partition that has moved away', async () => {
  const trait = ofTrait({ ...A_DEFINITION, id: 'trt_1', compute: 'count', event: 'Buy' });
  const { audiences, memory, assign, undefine } = audiencesUnderTest(false, [trait]);
  const status = () =>
    memory.compacted(PROFILE_STATUS).map(({ key, value }) => [String(key), value !== null]);
  await audiences.start();
  assign(0);
  await eventually(() => expect(status()).toEqual([['trt_1/0', true]]));
  assign();
  undefine();
  await eventually(() => expect(status()).toEqual([['trt_1/0', false]]));
});
