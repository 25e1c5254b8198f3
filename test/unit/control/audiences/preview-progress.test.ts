import fc from 'fast-check';
import {
  figuresOf,
  withAnswer,
  isDone,
  type PreviewProgress,
  NO_PROGRESS,
} from '../../../../services/control/audiences/preview-progress';
import { defined } from '../../../../shared/collections/defined';
import { type ProfileResult, type PreviewResult } from '../../../../shared/model/profile-records';

const answer = (partition: number, over: Partial<PreviewResult> = {}): PreviewResult => ({
  kind: 'preview',
  partition,
  state: 'counting',
  profiles: 10,
  looked: 0,
  of: 10,
  known: 0,
  members: 0,
  failed: 0,
  unsure: 0,
  sample: [],
  ...over,
});
const done = (partition: number, members: number) =>
  answer(partition, {
    state: 'done',
    looked: 10,
    known: 10,
    members,
    sample: [{ userId: `u${partition}`, traits: {} }],
  });
const all = (...answers: ProfileResult[]): PreviewProgress =>
  answers.reduce(withAnswer, NO_PROGRESS);

test.each([
  [
    'no process has answered',
    [],
    false,
    { phase: 'counting', members: 0, exact: false, detail: /2 of 2 partitions/ },
  ],
  [
    'a process has heard the query',
    [{ kind: 'heard' }],
    false,
    { phase: 'counting', detail: /2 of 2 partitions/ },
  ],
  [
    'one partition is done',
    [done(0, 5)],
    false,
    { phase: 'counting', members: 10, exact: false, detail: /1 of 2/ },
  ],
  [
    'all partitions are done',
    [done(0, 5), done(1, 1)],
    false,
    { phase: 'done', members: 6, exact: true, detail: null },
  ],
  [
    'the time is over',
    [done(0, 5)],
    true,
    { phase: 'failed', exact: false, detail: /1 of 2 responded/ },
  ],
  [
    'one partition waits',
    [answer(0, { state: 'waiting' }), done(1, 1)],
    false,
    { phase: 'counting', detail: /^Reading earlier messages first/ },
  ],
  [
    'a process has refused',
    [done(0, 5), { kind: 'refused', reason: 'Too many' }],
    false,
    { phase: 'failed', detail: 'Too many' },
  ],
  [
    'the members are estimated',
    [0, 1].map((partition) =>
      answer(partition, { state: 'done', profiles: 1_000, looked: 10, known: 10, members: 5 }),
    ),
    false,
    { phase: 'done', members: 1_000, exact: false, detail: 'Estimated from 20 of 2000 profiles' },
  ],
  [
    'some users had another id',
    [done(0, 5), { ...done(1, 1), unsure: 1 }],
    false,
    { phase: 'done', exact: false, plusMinus: 1, detail: /^1 of them had another id/ },
  ],
] as [string, ProfileResult[], boolean, object][])(
  'the figures of a preview are right if %s',
  (_, answers, over, expected) => {
    const figures = figuresOf(all(...answers), 2, over);
    const detail =
      'detail' in expected && expected.detail instanceof RegExp
        ? expect.stringMatching(expected.detail)
        : undefined;
    expect(figures).toMatchObject({
      ...expected,
      ...defined({ detail: detail || undefined }),
    });
  },
);

test('with repeated, late and old results a preview is done just when all partitions are', () => {
  const one = fc.nat({ max: 2 }).chain((partition) =>
    fc.oneof(
      // Results of an unfinished run of another process.
      fc
        .nat(9)
        .map((known) =>
          answer(partition, { known, looked: known, members: Math.floor(known / 2) }),
        ),
      fc.constant(answer(partition, { state: 'waiting' })),
      fc.constant(done(partition, partition + 1)),
      fc.constant<ProfileResult>({ kind: 'heard' }),
    ),
  );
  fc.assert(
    fc.property(fc.array(one, { maxLength: 20 }), (answers) => {
      const progress = all(...answers);
      const ended = [0, 1, 2].every((partition) =>
        answers.some(
          (each) =>
            each.kind === 'preview' && each.partition === partition && each.state === 'done',
        ),
      );
      expect(isDone(progress, 3)).toBe(ended);
      const figures = figuresOf(progress, 3, false);
      expect([figures.phase === 'done', figures.exact]).toEqual([ended, ended]);
      if (ended) expect(figures.members).toBe(6);
    }),
  );
});
