import { collectGarbage } from '../../../shared/runtime/collect-garbage';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const MB = 1024 * 1024;

/** A process whose memory a test sets; `later` returns how often the next look collects. */
function processWith(live: number) {
  const memory = { live, young: 0 };
  let collections = 0;
  collectGarbage({
    held: () => (memory.live + memory.young) * MB,
    collectYoung: () => {
      collections++;
      memory.young = 0;
    },
  });
  return (more: Partial<typeof memory>) => {
    Object.assign(memory, more);
    const before = collections;
    jest.advanceTimersByTime(5_000);
    return collections - before;
  };
}

test('a process collects young objects once there are many', () => {
  const later = processWith(50);
  expect(later({ young: 10 })).toBe(0);
  expect(later({ young: 13 })).toBe(1);
  expect(later({ young: 5 })).toBe(0);
});

test('after a collection that frees little, the next waits until more objects were made', () => {
  const later = processWith(50);
  expect(later({ live: 70 })).toBe(1);
  expect(later({ young: 5 })).toBe(0);
  expect(later({ young: 13 })).toBe(1);
});

test('after V8 itself freed objects, the limit begins at what is left', () => {
  const later = processWith(50);
  expect(later({ live: 30 })).toBe(0);
  expect(later({ young: 13 })).toBe(1);
});
