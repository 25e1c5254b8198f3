import { collectGarbage } from '../../../services/control/collect-garbage';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const MB = 1024 * 1024;

test('control collects young objects when there are many, and all objects if that was not enough', () => {
  const memory = { live: 50, young: 0, old: 0 };
  const collected: string[] = [];
  const end = collectGarbage({
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
  expect(later({ young: 10 })).toEqual([]);
  expect(later({ young: 30 })).toEqual(['young']);
  expect(later({ old: 40 })).toEqual(['young', 'all']);
  expect(later({ live: 70, young: 5 })).toEqual(['young']);
  end();
  expect(later({ old: 500 })).toEqual([]);
});
