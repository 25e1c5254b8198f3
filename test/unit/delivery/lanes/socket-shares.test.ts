import fc from 'fast-check';
import { SocketShares, type Share } from '../../../../services/delivery/lanes/socket-shares';
import { type Kind } from '../../../../services/delivery/lanes/job';

/** Lanes that want all places they can get, and the places they got. */
class Crowd {
  readonly pool: SocketShares;
  readonly seats: Share[] = [];
  readonly begun: { lane: number; kind: Kind }[] = [];
  /** number of times that the pool has looked at a lane's places */
  looks = 0;

  constructor(options: { total: number; reserve: number }) {
    this.pool = new SocketShares(options);
  }

  /** A lane that uses each place it gets, and queues again immediately while it wants more. */
  add(wants: (kind: Kind) => number = () => Infinity): number {
    const lane = this.seats.length;
    const left = { fresh: wants('fresh'), due: wants('due') };
    let held = 0;
    const looked = () => this.looks++;
    const seat: Share = {
      get held() {
        looked();
        return held;
      },
      set held(places) {
        held = places;
      },
      waits: 0,
      onPlace: (kind) => {
        if (left[kind] <= 0) return false;
        left[kind]--;
        this.begun.push({ lane, kind });
        if (left[kind] > 0) this.pool.wait(seat, kind);
        return true;
      },
    };
    this.seats.push(seat);
    return lane;
  }

  fill(lane: number): void {
    while (this.pool.take(this.seats[lane]!));
  }
}

describe('the sockets of a process', () => {
  test('a single lane gets all places but the reserve', () => {
    const crowd = new Crowd({ total: 100, reserve: 10 });
    crowd.fill(crowd.add());
    expect(crowd.pool.used).toBe(90);
  });

  test('the reserve is for lanes below their share', () => {
    const crowd = new Crowd({ total: 100, reserve: 10 });
    const [hung, quiet] = [crowd.add(), crowd.add()];
    crowd.fill(hung);
    for (let i = 0; i < 10; i++) expect(crowd.pool.take(crowd.seats[quiet]!)).toBe(true);
    expect(crowd.pool.take(crowd.seats[quiet]!)).toBe(false);
    expect(crowd.pool.used).toBe(100);
  });

  test('free places go to waiting lanes round robin, until each has its share', () => {
    const crowd = new Crowd({ total: 100, reserve: 0 });
    const first = crowd.add();
    crowd.fill(first);
    for (let i = 0; i < 4; i++) crowd.pool.wait(crowd.seats[crowd.add()]!, 'fresh');
    crowd.pool.wait(crowd.seats[first]!, 'fresh');
    for (let i = 0; i < 80; i++) crowd.pool.release(crowd.seats[first]!, 0);
    expect(crowd.begun.slice(0, 8).map(({ lane }) => lane)).toEqual([1, 2, 3, 4, 1, 2, 3, 4]);
    for (const { held } of crowd.seats) expect(Math.abs(held - 20)).toBeLessThanOrEqual(4);
  });

  test('one free place in four goes to a due retry', () => {
    const crowd = new Crowd({ total: 1, reserve: 0 });
    const [holder, fresh, due] = [crowd.add(), crowd.add(), crowd.add()];
    crowd.fill(holder);
    crowd.pool.wait(crowd.seats[fresh]!, 'fresh');
    crowd.pool.wait(crowd.seats[due]!, 'due');
    crowd.pool.release(crowd.seats[holder]!, 0);
    for (let i = 0; i < 7; i++) crowd.pool.release(crowd.seats[crowd.begun.at(-1)!.lane]!, 0);
    expect(crowd.begun.map(({ kind }) => kind)).toEqual([
      'fresh',
      'fresh',
      'fresh',
      'due',
      'fresh',
      'fresh',
      'fresh',
      'due',
    ]);
  });

  test('a lane that does not want a place any more is passed over', () => {
    const crowd = new Crowd({ total: 1, reserve: 0 });
    const [holder, gone, next] = [crowd.add(), crowd.add(() => 0), crowd.add(() => 1)];
    crowd.fill(holder);
    crowd.pool.wait(crowd.seats[gone]!, 'fresh');
    crowd.pool.wait(crowd.seats[next]!, 'fresh');
    crowd.pool.release(crowd.seats[holder]!, 0);
    expect(crowd.begun).toEqual([{ lane: next, kind: 'fresh' }]);
    expect(crowd.pool.contended).toBe(false);
  });

  test('a release among ten thousand lanes looks at no more of them than among ten', () => {
    const looks = (lanes: number) => {
      const crowd = new Crowd({ total: 5, reserve: 0 });
      crowd.fill(crowd.add(() => 0));
      for (let i = 1; i < lanes; i++) crowd.pool.wait(crowd.seats[crowd.add()]!, 'fresh');
      const from = crowd.looks;
      crowd.pool.release(crowd.seats[0]!, 0);
      for (let i = 0; i < 50_000; i++) {
        crowd.pool.release(crowd.seats[crowd.begun.at(-1)!.lane]!, 0);
      }
      return crowd.looks - from;
    };
    expect(looks(10_000)).toBeLessThanOrEqual(1.1 * looks(10));
  });

  test('with any load, total and shares hold while others wait, and no lane starves', () => {
    const action = fc.record({
      lane: fc.nat(7),
      what: fc.constantFrom('take', 'fresh', 'due', 'release', 'release', 'leave'),
    });
    fc.assert(
      fc.property(
        fc.array(action, { maxLength: 300 }),
        fc.integer({ min: 2, max: 30 }),
        (actions, total) => {
          const crowd = new Crowd({ total, reserve: Math.floor(total / 10) });
          for (let i = 0; i < 8; i++) crowd.add(() => (i < 6 ? Infinity : 3));
          const { pool, seats } = crowd;
          for (const { lane, what } of actions) {
            const seat = seats[lane]!;
            if (what === 'take') {
              const before = { contended: pool.contended, share: pool.share, held: seat.held };
              if (pool.take(seat) && before.contended) {
                expect(before.held).toBeLessThan(before.share);
              }
            } else if (what === 'leave') pool.leave(seat);
            else if (what !== 'release') {
              if (!pool.take(seat)) pool.wait(seat, what);
            } else if (seat.held > 0) pool.release(seat, 0);
            expect(pool.used).toBeLessThanOrEqual(total);
            expect(pool.used).toBe(seats.reduce((sum, { held }) => sum + held, 0));
            expect(seats.every(({ held, waits }) => held >= 0 && waits >= 0)).toBe(true);
          }
          // The lane with the most places gives one back again and again: each waiting lane without
          // places gets one.
          const waiting = seats.flatMap(({ held, waits }, lane) =>
            held === 0 && waits > 0 ? [lane] : [],
          );
          const from = crowd.begun.length;
          for (let i = 0; i < 40 * total && pool.used > 0; i++) {
            pool.release(
              seats.reduce((most, seat) => (seat.held > most.held ? seat : most)),
              0,
            );
          }
          const served = new Set(crowd.begun.slice(from).map(({ lane }) => lane));
          for (const lane of waiting) if (pool.used > 0) expect(served).toContain(lane);
        },
      ),
    );
  });
});
