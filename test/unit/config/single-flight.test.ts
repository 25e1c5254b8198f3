import { singleFlight } from '../../../shared/config/reader';

/** Reads that end when the test says so. */
function reads() {
  const begun: { deadlineMs: number; end(): void; fail(reason: string): void }[] = [];
  const look = (deadlineMs: number) =>
    new Promise<void>((resolve, reject) => {
      begun.push({ deadlineMs, end: resolve, fail: (reason) => reject(new Error(reason)) });
    });
  const refresh = singleFlight(look);
  const results: Record<string, string> = {};
  /** Calls, and notes the result under a name. */
  const call = (name: string, deadlineMs = 5_000) =>
    refresh(deadlineMs).then(
      () => (results[name] = 'read'),
      (error: unknown) => (results[name] = (error as Error).message),
    );
  return { begun, refresh, call, results };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('a caller that arrives during a read shares the next read with all others', async () => {
  const { begun, call, results } = reads();
  const all = [call('first'), call('second'), call('third')];
  await settled();
  expect(begun).toHaveLength(1);
  begun[0]!.end();
  await settled();
  expect([results, begun.length]).toEqual([{ first: 'read' }, 2]);
  all.push(call('fourth'));
  begun[1]!.end();
  await settled();
  expect([results, begun.length]).toEqual([{ first: 'read', second: 'read', third: 'read' }, 3]);
  begun[2]!.end();
  await Promise.all(all);
  expect(results).toMatchObject({ fourth: 'read' });
});

test('a read begins immediately if none is running', async () => {
  const { begun, call } = reads();
  for (const name of ['first', 'second', 'third']) {
    const called = call(name);
    begun.at(-1)!.end();
    await called;
  }
  expect(begun).toHaveLength(3);
});

test('an error reaches every caller that waits for that read', async () => {
  const { begun, call, results } = reads();
  const all = [call('first'), call('second'), call('third')];
  begun[0]!.end();
  await settled();
  begun[1]!.fail('away');
  await Promise.all(all);
  expect(results).toEqual({ first: 'read', second: 'away', third: 'away' });
});

test('an error reaches no caller of the next read, and does not stop it', async () => {
  const { begun, call, results } = reads();
  const all = [call('first'), call('second')];
  begun[0]!.fail('away');
  await settled();
  expect([results, begun.length]).toEqual([{ first: 'away' }, 2]);
  begun[1]!.end();
  await Promise.all(all);
  expect(results).toEqual({ first: 'away', second: 'read' });
});

test('a call fails at its own deadline, and the read continues for the others', async () => {
  const { begun, refresh, call, results } = reads();
  await expect(refresh(1)).rejects.toMatchObject({ code: 'kafka_unavailable', retriable: true });
  await expect(refresh(1)).rejects.toMatchObject({ code: 'kafka_unavailable', retriable: true });
  const patient = call('patient');
  begun[0]!.end();
  await settled();
  begun[1]!.end();
  await patient;
  expect([results, begun.length]).toEqual([{ patient: 'read' }, 2]);
});

test('a read has its own limit, which is independent of the deadline of its caller', async () => {
  const { begun, refresh } = reads();
  await expect(refresh(1)).rejects.toMatchObject({ code: 'kafka_unavailable' });
  expect(begun[0]!.deadlineMs).toBe(10_000);
});
