import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Kept, Room } from '../../../shared/cel/kept';
import { eventually } from '../../support/eventually';

/** Compiled expressions of all destinations share the memory of a process. */

const MB = 1024 * 1024;
const anEntry = (bytes: number) => ({ bytes });

function keptIn(room: Room) {
  const compile = jest.fn(({ bytes }: { bytes: number }) => ({ kind: 'compiled' as const, bytes }));
  return { kept: new Kept(compile, room), compile };
}

test('what is kept is compiled once, and never takes more than the room', () => {
  const { kept, compile } = keptIn(new Room(64 * MB));
  const entries = Array.from({ length: 10_000 }, () => anEntry(MB / 2));
  for (const entry of entries) kept.of(entry);
  compile.mockClear();
  for (const entry of entries) kept.of(entry);
  const isKept = entries.length - compile.mock.calls.length;
  expect(isKept).toBeGreaterThan(32);
  expect(isKept * 0.5).toBeLessThan(64);
});

test('thousands of large expressions leave room for small ones', () => {
  const { kept, compile } = keptIn(new Room(64 * MB));
  for (let i = 0; i < 10_000; i++) kept.of(anEntry(MB));
  const small = Array.from({ length: 1_000 }, () => anEntry(12 * 1024));
  for (const entry of small) kept.of(entry);
  compile.mockClear();
  for (const entry of small) kept.of(entry);
  expect(compile).not.toHaveBeenCalled();
});

test('the room of a value that is gone is used again', async () => {
  const room = new Room(64 * MB);
  for (let i = 0; i < 1_000; i++) room.take({}, MB / 4);
  expect(room.take({}, MB)).toBe(false);
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  await eventually(() => {
    collect();
    expect(room.take({}, MB)).toBe(true);
  });
});

test('a mistake is kept too', () => {
  const compile = jest.fn(() => ({ kind: 'mistake' as const }));
  const kept = new Kept(compile, new Room(MB));
  const entry = {};
  expect(kept.of(entry)).toBe(kept.of(entry));
  expect(compile).toHaveBeenCalledTimes(1);
});
