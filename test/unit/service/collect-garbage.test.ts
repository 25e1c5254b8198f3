import { collectGarbage } from '../../../shared/service/collect-garbage';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const MB = 1024 * 1024;

/** A process whose memory a test sets; `later` returns what the next look collects. */
function processWith(live: number) {
  const memory = { live, young: 0, old: 0 };
  const collected: string[] = [];
  collectGarbage({
    held: () => (memory.live + memory.young + memory.old) * MB,
    collect: (which) => {
      collected.push(which);
      memory.young = 0;
      if (which === 'all') memory.old = 0;
    },
  });
  const later = (more: Partial<typeof memory>) => {
    Object.assign(memory, more);
    jest.advanceTimersByTime(5_000);
    return collected.splice(0);
  };
  return { later };
}

test('a process collects young objects when there are many, and all objects if that was not enough', () => {
  const { later } = processWith(50);
  expect(later({ young: 10 })).toEqual([]);
  expect(later({ young: 30 })).toEqual(['young']);
  expect(later({ old: 40 })).toEqual(['young', 'all']);
  expect(later({ live: 70, young: 5 })).toEqual(['young']);
});

test('after a collection of young objects that frees little, the next one waits until more were made', () => {
  const { later } = processWith(50);
  expect(later({ live: 70 })).toEqual(['young']);
  expect(later({ young: 5 })).toEqual([]);
  expect(later({ young: 13 })).toEqual(['young']);
});

test('the more live, the more may be dead before a process collects all objects', () => {
  const { later } = processWith(120);
  expect(later({ old: 59 })).toEqual(['young']);
  expect(later({ old: 61 })).toEqual(['all']);
});

test('in a large process V8 alone collects old objects, until it is small again', () => {
  const { later } = processWith(120);
  expect(later({ live: 190 })).toEqual(['young', 'all']);
  expect(later({ old: 400 })).toEqual(['young']);
  expect(later({ live: 60, old: 0 })).toEqual([]);
  expect(later({ old: 40 })).toEqual(['young', 'all']);
});
