import type * as fs from 'node:fs';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Lock, takeLock } from '../../../shared/runtime/data-dir';
import type * as processIds from '../../../shared/runtime/process-id';

/**
 * Starts that meet at the lock of an owner that was killed. Each step of one start in the file
 * system is a place where another may come between.
 */

/** what happens before a step of a start, by the name of its function */
let mockBetween: (step: string) => void = () => undefined;
jest.mock('node:fs', () => {
  const real = jest.requireActual<Record<string, unknown>>('node:fs');
  const stepped = Object.entries(real).map(([name, value]): [string, unknown] => {
    if (typeof value !== 'function' || !name.endsWith('Sync')) return [name, value];
    const call = value as (...args: unknown[]) => unknown;
    const withStep = (...args: unknown[]) => {
      mockBetween(name);
      return call(...args);
    };
    return [name, withStep];
  });
  return Object.fromEntries(stepped) as unknown as typeof fs;
});

const mockAlive = new Set<number>();
let mockPid = 0;
jest.mock('../../../shared/runtime/process-id', () => ({
  ...jest.requireActual<typeof processIds>('../../../shared/runtime/process-id'),
  ownId: () => ({ pid: mockPid, started: 'once' }),
  isAlive: ({ pid }: { pid: number }) => mockAlive.has(pid),
}));

/** Starts as a process of its own. @returns its lock; undefined: it was refused */
function start(dir: string, pid: number): Lock | undefined {
  const before = mockPid;
  mockPid = pid;
  mockAlive.add(pid);
  try {
    return takeLock(dir);
  } catch (error) {
    expect(error).toMatchObject({ code: 'cannot_start' });
    return undefined;
  } finally {
    mockPid = before;
  }
}

/**
 * Starts three processes at the lock of a killed one: the second before a step of the first, the
 * third before the same step or a later one.
 * @returns their locks, and the number of steps of the first
 */
function threeStarts(secondAt: number, thirdAt: number): { locks: Lock[]; steps: number } {
  const dir = mkdtempSync(join(tmpdir(), 'waypost-lock-race-'));
  try {
    start(dir, 1);
    mockAlive.clear();
    const locks: (Lock | undefined)[] = [];
    let steps = 0;
    const between = () => {
      const step = steps++;
      mockBetween = () => undefined;
      if (step === secondAt) locks.push(start(dir, 3));
      if (step === thirdAt) locks.push(start(dir, 4));
      mockBetween = between;
    };
    mockBetween = between;
    locks.push(start(dir, 2));
    mockBetween = () => undefined;
    return { locks: locks.filter((lock) => lock !== undefined), steps };
  } finally {
    mockBetween = () => undefined;
    rmSync(dir, { recursive: true, force: true });
  }
}

test('of three starts at the lock of a killed owner, one gets it and knows that', () => {
  const { steps } = threeStarts(-1, -1);
  expect(steps).toBeGreaterThan(5);
  const wrong: string[] = [];
  for (let second = 0; second < steps; second++) {
    for (let third = second; third < steps; third++) {
      const locks = threeStarts(second, third).locks.map(({ takenOver }) => ({ takenOver }));
      if (locks.length !== 1 || !locks[0]!.takenOver) {
        wrong.push(`${String(second)}, ${String(third)}: ${JSON.stringify(locks)}`);
      }
    }
  }
  expect(wrong).toEqual([]);
});

test('a start that finds no room on the disk leaves nothing behind', () => {
  const dir = mkdtempSync(join(tmpdir(), 'waypost-lock-race-'));
  try {
    mockBetween = (step) => {
      if (step === 'writeFileSync') throw new Error('ENOSPC');
    };
    expect(() => takeLock(dir)).toThrow('ENOSPC');
    expect(readdirSync(dir)).toEqual([]);
  } finally {
    mockBetween = () => undefined;
    rmSync(dir, { recursive: true, force: true });
  }
});
