import { type Knowledge, DecisionGate } from '../../../shared/config/decision-gate';
import { fakeProgress } from '../../support/fakes';

/** A gate whose items are decided only by a `config` that is known as of their arrival. */

function held() {
  const config = fakeProgress();
  const asked: [item: string, knowledge: Knowledge][] = [];
  const decidable = new Set<string>();
  const errors: unknown[] = [];
  const decide = (item: string, knowledge: Knowledge) => {
    asked.push([item, knowledge]);
    return decidable.has(item) || knowledge.current;
  };
  const undecided = new DecisionGate(config, decide, (error) => errors.push(error));
  return { config, asked, decidable, undecided, errors };
}

test('an item that can be decided immediately is not held', () => {
  const { undecided, decidable, config, asked } = held();
  decidable.add('a');
  undecided.offer('a');
  config.readToEnd();
  expect([undecided.size, asked]).toEqual([0, [['a', { current: false, changed: true }]]]);
});

test('an end of config that was known before an item came does not decide it', () => {
  const { undecided, config } = held();
  config.readToEnd();
  undecided.offer('a');
  expect(undecided.size).toBe(1);
});

test('an end of config that is known after items came decides them, in their order', () => {
  const { undecided, config, asked } = held();
  for (const item of ['a', 'b']) undecided.offer(item);
  asked.length = 0;
  config.readToEnd();
  expect(asked).toEqual(['a', 'b'].map((item) => [item, { current: true, changed: false }]));
  expect(undecided.size).toBe(0);
});

test('decide learns whether config was read, and decides nothing again without records', () => {
  const { undecided, config, asked } = held();
  undecided.offer('a');
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
  for (const item of ['a', 'b', 'c']) undecided.offer(item);
  config.readToEnd();
  expect([decided, undecided.size, errors]).toEqual([['a', 'c'], 1, [new RangeError('no time')]]);
});

test('items offered during a round of decisions are held after the older ones', () => {
  const config = fakeProgress();
  const order: string[] = [];
  const undecided: DecisionGate<string> = new DecisionGate(
    config,
    (item, { current }) => {
      if (!current) return false;
      order.push(item);
      if (item === 'a') undecided.offer('c');
      return true;
    },
    fail,
  );
  for (const item of ['a', 'b']) undecided.offer(item);
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
  expect(['a1', 'a2', 'a3', 'b1'].map((item) => undecided.offer(item))).toEqual([
    true,
    true,
    false,
    true,
  ]);
  undecided.release((item) => item === 'a1');
  expect(['a4', 'a5'].map((item) => undecided.offer(item))).toEqual([true, false]);
  config.readToEnd();
  expect([undecided.size, undecided.offer('a666')]).toEqual([0, true]);
});
