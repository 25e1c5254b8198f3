import { SharedSteps } from '../../support/shared-steps';

/** What several concurrent tests wait for together. */

const nothingMore = () => new Promise((resolve) => setImmediate(resolve));

test('a step is taken once, when each test waits for it', async () => {
  const told: string[] = [];
  const says = (what: string) => () => {
    told.push(what);
    return Promise.resolve();
  };
  const steps = new SharedSteps([says('first step'), says('second step')]);
  const scene = (name: string) =>
    steps.with(async (next) => {
      await next();
      told.push(`${name} after the first`);
      await next();
      told.push(`${name} after the second`);
    });
  const scenes = [scene('a')(), scene('b')()];
  await Promise.all(scenes);
  expect(told).toEqual([
    'first step',
    'a after the first',
    'b after the first',
    'second step',
    'a after the second',
    'b after the second',
  ]);
});

test('a test that fails or ends holds up no other', async () => {
  let taken = 0;
  const take = () => Promise.resolve(taken++);
  const steps = new SharedSteps([take, take]);
  const fails = steps.with(() => Promise.reject(new Error('broken')))();
  const ends = steps.with((next) => next())();
  const waits = steps.with(async (next) => {
    await next();
    await next();
  })();
  await expect(fails).rejects.toThrow('broken');
  await Promise.all([ends, waits]);
  expect(taken).toBe(2);
});

test('a test that has not come to the step yet is waited for', async () => {
  let arrive!: () => void;
  const arrived = new Promise<void>((resolve) => (arrive = resolve));
  let taken = 0;
  const steps = new SharedSteps([() => Promise.resolve(taken++)]);
  const early = steps.with((next) => next())();
  const late = steps.with(async (next) => {
    await arrived;
    await next();
  })();
  await nothingMore();
  expect(taken).toBe(0);
  arrive();
  await Promise.all([early, late]);
  expect(taken).toBe(1);
});

test('each test fails with a step that fails', async () => {
  const steps = new SharedSteps([() => Promise.reject(new Error('no broker'))]);
  const scenes = [steps.with((next) => next())(), steps.with((next) => next())()];
  for (const each of await Promise.allSettled(scenes)) {
    expect(each).toMatchObject({ status: 'rejected', reason: { message: 'no broker' } });
  }
});
