import { type Knowledge, DecisionGate } from '../../../shared/config/decision-gate';
import { fakeProgress } from '../../support/fakes';

/** A gate whose items are decided only by a `config` that is known as of their arrival. */

function held() {
  const config = fakeProgress();
  const asked: [item: string, knowledge: Knowledge][] = [];
  const decide = (item: string, knowledge: Knowledge) => {
    asked.push([item, knowledge]);
    return knowledge.current;
  };
  const undecided = new DecisionGate(config, decide, fail);
  return { config, asked, undecided };
}

test('an end of config that was known before an item came does not decide it', () => {
  const { undecided, config, asked } = held();
  config.readToEnd();
  undecided.hold('a');
  expect([undecided.size, asked]).toEqual([1, []]);
});

test('an end of config that is known after items came decides them, in their order', () => {
  const { undecided, config, asked } = held();
  for (const item of ['a', 'b']) undecided.hold(item);
  config.readToEnd();
  expect(asked).toEqual(['a', 'b'].map((item) => [item, { current: true, changed: false }]));
  expect(undecided.size).toBe(0);
});

test('decide learns whether config was read, and decides nothing again without records', () => {
  const { undecided, config, asked } = held();
  undecided.hold('a');
  config.readToEnd(3);
  expect(asked.at(-1)).toEqual(['a', { current: true, changed: true }]);
});

const fail = (error: unknown) => {
  throw error;
};

test('an item whose decision fails is reported and stays held, and later items are decided', () => {
  const config = fakeProgress();
  const errors: unknown[] = [];
  const decided: string[] = [];
  const undecided = new DecisionGate<string>(
    config,
    (item, { current }) => {
      if (!current) return false;
      if (item === 'b') throw new RangeError('no time');
      return decided.push(item) > 0;
    },
    (error) => errors.push(error),
  );
  for (const item of ['a', 'b', 'c']) undecided.hold(item);
  config.readToEnd();
  expect([decided, undecided.size, errors]).toEqual([['a', 'c'], 1, [new RangeError('no time')]]);
});

test('items that come during a round of decisions are held after the older ones', () => {
  const config = fakeProgress();
  const order: string[] = [];
  const undecided: DecisionGate<string> = new DecisionGate(
    config,
    (item, { current }) => {
      if (!current) return false;
      order.push(item);
      if (item === 'a') undecided.hold('c');
      return true;
    },
    fail,
  );
  for (const item of ['a', 'b']) undecided.hold(item);
  config.readToEnd();
  config.readToEnd();
  expect(order).toEqual(['a', 'b', 'c']);
});

test('an item whose kind has no room is not held, until others of its kind are released', () => {
  const config = fakeProgress();
  const undecided = new DecisionGate<string>(config, (_, { current }) => current, fail, {
    kindOf: ([kind = '']) => kind,
    sizeOf: ({ length }) => length,
    most: 4,
  });
  expect(['a1', 'a2', 'a3', 'b1'].map((item) => undecided.hold(item))).toEqual([
    true,
    true,
    false,
    true,
  ]);
  undecided.release((item) => item === 'a1');
  expect(['a4', 'a5'].map((item) => undecided.hold(item))).toEqual([true, false]);
  config.readToEnd();
  expect([undecided.size, undecided.hold('a666')]).toEqual([0, true]);
});
