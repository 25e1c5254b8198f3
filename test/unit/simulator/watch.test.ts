import { Book } from '../../../tools/simulator/delivery-audit';
import { Crowd } from '../../../tools/simulator/lane-invariants';
import { Figures } from '../../../tools/simulator/figures';
import { ATTEMPTS, DEAD, DUE } from '../../../shared/kafka/topics';
import { aSuccess, rowsOf } from '../../support/successes';

/** The checks of a simulation find each kind of violation. */

function aBook() {
  const book = new Book(new Figures(1_000), { tiersMs: [100], marginMs: 0 });
  const wrong = () => [...book.violations.keys()];
  return { book, wrong };
}

const URL = 'https://a.example';
const sent = (book: Book, delivery: string, nowMs: number) =>
  book.sent({ delivery, url: URL }, nowMs);
const attempted = (delivery: string, outcome: string) => ({
  topic: ATTEMPTS,
  key: delivery,
  value: JSON.stringify({ kind: 'attempt', delivery, outcome }),
});
const waiting = (
  delivery: string,
  hop: number,
  topic = 'webhooks.retry.10s',
  reason = 'backoff',
) => ({
  topic,
  key: 'k',
  value: null,
  headers: { delivery, hop: String(hop), reason },
});

describe('the book of deliveries', () => {
  test('a delivery that waits once and is delivered breaks nothing', () => {
    const { book, wrong } = aBook();
    const id = book.bear('a', 0, 1_000);
    const done = book.taken(id);
    sent(book, id, 5);
    book.answered(id, URL, 0, 8);
    book.written(attempted(id, 'retry'), 10);
    book.written(waiting(id, 1), 10);
    done();
    const returned = book.taken(id);
    book.written(waiting(id, 1, DUE), 20);
    returned();
    const again = book.taken(id);
    sent(book, id, 30);
    book.written(attempted(id, 'delivered'), 40);
    again();
    expect([wrong(), book.open]).toEqual([[], 0]);
  });

  test('a record of rows ends each of its deliveries, once', () => {
    const { book, wrong } = aBook();
    const ids = [book.bear('a', 0, 1_000), book.bear('a', 0, 1_000)];
    const done = ids.map((id) => book.taken(id));
    const rows = { topic: ATTEMPTS, key: null, value: rowsOf(ids.map((id) => aSuccess({ id }))) };
    book.written(rows, 30);
    for (const each of done) each();
    expect([wrong(), book.open]).toEqual([[], 0]);
    book.written(rows, 40);
    expect(wrong()).toEqual(['attempted, and not held', 'ended (delivered), and not held']);
  });

  test.each<[string, (book: Book, id: string) => void]>([
    ['done before its outcome was written', (book, id) => book.taken(id)()],
    [
      'done twice',
      (book, id) => {
        const done = book.taken(id);
        book.written(attempted(id, 'delivered'), 1);
        done();
        done();
      },
    ],
    [
      'read what was not stored',
      (book, id) => {
        book.taken(id);
        book.taken(id);
      },
    ],
    [
      'attempted before the time asked for',
      (book, id) => {
        book.taken(id);
        sent(book, id, 1);
        book.answered(id, URL, 500, 2);
        sent(book, id, 501);
      },
    ],
    [
      'two attempts at the same time',
      (book, id) => {
        book.taken(id);
        sent(book, id, 1);
        sent(book, id, 2);
      },
    ],
    [
      'sent to a URL that is off',
      (book, id) => {
        book.taken(id);
        book.invariants.switchedOff(URL);
        sent(book, id, 1);
      },
    ],
    [
      'attempted after its cancellation',
      (book, id) => {
        book.taken(id);
        book.written(waiting(id, 1), 10);
        book.cancelled(id, 20);
        book.taken(id);
        book.written(waiting(id, 1, DUE), 3_021);
        book.taken(id);
        sent(book, id, 3_022);
      },
    ],
    ['sent what was not held', (book, id) => void sent(book, id, 1)],
    [
      'sent after its window',
      (book, id) => {
        book.taken(id);
        sent(book, id, 900);
        book.written(attempted(id, 'retry'), 900);
        sent(book, id, 1_001);
      },
    ],
    [
      'sent after its window',
      (book, id) => {
        book.taken(id);
        book.written(waiting(id, 1, undefined, 'rate_limited'), 500);
        book.taken(id);
        sent(book, id, 1_001);
      },
    ],
    [
      'a wait beyond its window',
      (book, id) => {
        book.taken(id);
        book.written(attempted(id, 'retry'), 900);
        book.written(waiting(id, 1), 900);
        book.taken(id);
        book.written(waiting(id, 1, DUE), 1_001);
      },
    ],
    [
      'ended (dead), and not held',
      (book, id) => {
        book.taken(id);
        book.written(attempted(id, 'delivered'), 1);
        book.written({ topic: DEAD, key: 'k', value: null, headers: { delivery: id } }, 2);
      },
    ],
    ['written again, and not held', (book, id) => book.written(waiting(id, 1), 1)],
  ])('%s', (what, act) => {
    const { book, wrong } = aBook();
    act(book, book.bear('a', 0, 1_000));
    expect(wrong()).toContain(what);
  });
});

test('a delivery that waited for Waypost alone may be sent after its window', () => {
  const { book, wrong } = aBook();
  const id = book.bear('a', 0, 1_000);
  book.taken(id);
  sent(book, id, 2_010);
  expect(wrong()).toEqual([]);
});

test('a delivery may return after its window where a process stood still', () => {
  const { book, wrong } = aBook();
  const id = book.bear('a', 0, 1_000);
  book.taken(id);
  book.written(attempted(id, 'retry'), 900);
  book.written(waiting(id, 1), 900);
  book.stoodStill(1_500);
  book.taken(id);
  book.written(waiting(id, 1, DUE), 2_000);
  expect(wrong()).toEqual([]);
});

describe('the crowd of requests', () => {
  const bounds = { pool: { total: 10, reserve: 2 }, ceiling: 6, recoveredAt: 4 };
  const aCrowd = () => {
    const { book, wrong } = aBook();
    const crowd = new Crowd(book, bounds);
    const queued = { firstWaiting: 0, sharesSockets: false };
    const begin = (lane: string, kind: 'fresh' | 'due' = 'fresh') => {
      const request = {};
      crowd.began(lane, kind, request, queued);
      return request;
    };
    return { crowd, wrong, queued, begin };
  };

  test('a lane above its ceiling', () => {
    const { begin, wrong } = aCrowd();
    for (let i = 0; i < 6; i++) begin('a');
    expect(wrong()).toEqual([]);
    begin('a');
    expect(wrong()).toEqual(['a lane above its ceiling']);
  });

  test('more sockets than there are, and of the last a lane above its share', () => {
    const { begin, wrong } = aCrowd();
    for (let i = 0; i < 8; i++) begin(i < 4 ? 'a' : 'b');
    begin('c');
    expect(wrong()).toEqual([]);
    begin('a');
    expect(wrong()).toEqual(['a lane above its share']);
    begin('d');
    expect(wrong()).toEqual(['a lane above its share', 'more sockets than there are']);
  });

  test('retries before first attempts: one in four is right', () => {
    const { crowd, queued, begin, wrong } = aCrowd();
    const round = (kinds: ('fresh' | 'due')[]) => {
      for (const kind of kinds) crowd.ended('a', begin('a', kind), true);
    };
    for (let i = 0; i < 5; i++) round(['fresh', 'due']);
    queued.firstWaiting = 1;
    for (let i = 0; i < 20; i++) round(['fresh', 'fresh', 'fresh', 'due']);
    expect(wrong()).toEqual([]);
    // Other lanes get the first attempts then.
    queued.sharesSockets = true;
    for (let i = 0; i < 5; i++) round(['fresh', 'due']);
    expect(wrong()).toEqual([]);
    queued.sharesSockets = false;
    for (let i = 0; i < 5; i++) round(['fresh', 'due']);
    expect(wrong()).toEqual(['retries before first attempts']);
  });

  test('more than one probe, and above the ramp', () => {
    const { crowd, begin, wrong } = aCrowd();
    crowd.circuit('a', 'open');
    const probe = begin('a');
    expect(wrong()).toEqual([]);
    const second = begin('a');
    expect(wrong()).toEqual(['more than one probe at a time']);
    crowd.ended('a', second, false);
    crowd.ended('a', probe, true);
    crowd.circuit('a', 'closed');
    crowd.ended('a', begin('a'), true);
    begin('a');
    begin('a');
    expect(wrong()).toHaveLength(1);
    begin('a');
    expect(wrong()).toEqual(['more than one probe at a time', 'above the ramp']);
  });
});
