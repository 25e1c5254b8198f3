import { readingById } from '../../../console/src/lib/by-id';
import { recheckMs } from '../../../console/src/lib/recheck';

/** What the page of live events asks the API for. */

describe('reading by id', () => {
  const reader = (most = 200) => {
    const asked: string[][] = [];
    const answers: (() => void)[] = [];
    const read = readingById(async (ids) => {
      asked.push([...ids]);
      await new Promise<void>((resolve) => answers.push(resolve));
      return ids.filter((id) => id !== 'gone').map((id) => ({ id, name: `name of ${id}` }));
    }, most);
    return { read, asked, answers };
  };
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  test('asks once for the ids of a page, and says null for one without an entry', async () => {
    const { read, asked, answers } = reader();
    const found = Promise.all(['a', 'gone', 'a'].map(read));
    await turn();
    expect(asked).toEqual([['a', 'gone']]);
    answers[0]?.();
    const a = { id: 'a', name: 'name of a' };
    expect(await found).toEqual([a, null, a]);
  });

  test('asks once at a time, then for all the ids that came meanwhile, some at once', async () => {
    const { read, asked, answers } = reader(2);
    const found = [read('a')];
    await turn();
    found.push(...['b', 'c', 'd'].map(read));
    await turn();
    expect(asked).toEqual([['a']]);
    for (let i = 0; i < 3; i++) {
      answers[i]?.();
      await turn();
    }
    expect(asked).toEqual([['a'], ['b', 'c'], ['d']]);
    expect((await Promise.all(found)).map((entry) => entry?.id)).toEqual(['a', 'b', 'c', 'd']);
  });

  test('fails all of a request that fails, and asks again', async () => {
    let isAway = true;
    const read = readingById(
      (ids) =>
        isAway ? Promise.reject(new Error('away')) : Promise.resolve(ids.map((id) => ({ id }))),
      200,
    );
    const found = await Promise.allSettled(['a', 'b'].map(read));
    expect(found.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    isAway = false;
    expect(await read('a')).toEqual({ id: 'a' });
  });
});

describe('looking again at the deliveries of an event', () => {
  const open = { destination: 'a', settledAt: null };
  const ended = { destination: 'a', settledAt: '2026-01-01T00:00:00.000Z' };
  test.each<[string, Parameters<typeof recheckMs>[1], number, number | false]>([
    ['nothing is read yet', undefined, 0, 2_000],
    ['none is known yet', [], 59_999, 2_000],
    ['none is known for long', [], 60_000, false],
    ['one is open', [open], 59_999, 2_000],
    ['one is open for long', [open], 60_000, 10_000],
    ['all have ended', [ended], 0, false],
  ])('%s', (_, deliveries, shownMs, expected) => {
    expect(recheckMs(['a'], deliveries, shownMs)).toBe(expected);
  });

  test('waits for the delivery of each destination', () => {
    expect(recheckMs(['a', 'b'], [ended], 0)).toBe(2_000);
  });
});
