import { applyEvent, type DeliveryRow } from '../../../../services/control/history/delivery-row';
import {
  MOST_RESPONSE_BYTES,
  moveResponses,
  responseLine,
} from '../../../../services/control/history/responses';
import { type AttemptEvent, storedBytes } from '../../../../shared/model/attempt-events';
import { aFailure, anEvent, at, aUrl } from '../../../support/events';

/** The table `responses`, as the moves of one delivery fill it. */
class Table {
  row: DeliveryRow | undefined;
  readonly stored = new Map<number, string>();

  take(...events: AttemptEvent[]): void {
    const after = events.reduce<DeliveryRow | undefined>(applyEvent, this.row);
    if (!after || after === this.row) return;
    const { row, added, removed } = moveResponses(this.row, after);
    for (const seq of removed) this.stored.delete(seq);
    for (const { seq, text } of added) {
      if (this.stored.has(seq)) throw new Error(`the number ${String(seq)} is taken`);
      this.stored.set(seq, text);
    }
    this.row = row;
  }

  get bytes(): number {
    return [...this.stored.values()].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  }

  /** the numbers that the row names */
  get named(): number[] {
    return this.row!.tries.flatMap(({ urls }) => urls.flatMap(({ stored }) => stored?.seq ?? []));
  }
}

const answer = (body: string) => ({ headers: { server: 'x' }, body, truncated: false });
const failure = (n: number, body: string) =>
  aFailure({ n, hop: n, at: at(n), urls: [aUrl({ outcome: 'retry', response: answer(body) })] });

test('a row names its responses and contains none', () => {
  const table = new Table();
  table.take(failure(1, 'one'), failure(2, 'two'));
  expect(JSON.stringify(table.row)).not.toMatch(/one|two|server/);
  expect(table.row!.tries[1]!.urls[0]!.stored).toEqual({
    seq: 1,
    bytes: storedBytes(answer('two')),
  });
  expect([...table.stored.values()].map((text) => JSON.parse(text) as object)).toEqual([
    answer('one'),
    answer('two'),
  ]);
});

test.each([
  ['control characters', '\u0001'.repeat(16 * 1024)],
  ['quotes', '"'.repeat(16 * 1024)],
  ['characters of three bytes', '\ufffd'.repeat(16 * 1024)],
])('a delivery stores at most 256 KiB of %s, and the oldest go first', (_, body) => {
  const table = new Table();
  for (let n = 1; n <= 60; n++) {
    table.take(failure(n, body));
    expect(table.named).toEqual([...table.stored.keys()]);
  }
  expect(table.named.at(-1)).toBe(59);
  const each = storedBytes(answer(body));
  expect(table.named).toHaveLength(Math.floor(MOST_RESPONSE_BYTES / each));
});

test('the limit holds for the first attempt, with many URLs', () => {
  const response = answer('\u0001'.repeat(16 * 1024));
  const urls = [1, 2, 3, 4, 5].map((i) =>
    aUrl({ url: `whk_${String(i)}`, response: { ...response } }),
  );
  const table = new Table();
  table.take(anEvent({ urls }));
  expect(table.named).toEqual([3, 4]);
  expect(table.row!.tries[0]!.urls).toHaveLength(5);
});

test('a response that is longer than all of a delivery may be is not stored', () => {
  const table = new Table();
  table.take(failure(1, 'short'), failure(2, 'x'.repeat(MOST_RESPONSE_BYTES)));
  expect(table.stored.size).toBe(0);
  table.take(failure(3, 'short'));
  expect(table.named).toHaveLength(1);
});

test('an event that comes again and an attempt that falls out of the row leave no response', () => {
  const table = new Table();
  for (let n = 1; n <= 130; n++) {
    table.take(failure(n, 'a'));
    table.take(failure(n, 'a'));
  }
  expect(table.named).toHaveLength(100);
  expect([...table.stored.keys()]).toEqual(table.named);
});

test('an empty response stays in the row, as that of an attempt beyond the budget', () => {
  const table = new Table();
  const response = { headers: {}, body: '', truncated: true };
  const urls = [aUrl({ outcome: 'retry', response })];
  table.take(failure(1, 'one'), aFailure({ n: 2, hop: 2, at: at(2), urls }));
  table.take(failure(3, 'three'));
  expect(table.named).toEqual([0, 1]);
  expect(table.row!.tries[1]!.urls[0]).toMatchObject({ response });
  expect(table.stored.size).toBe(2);
});

test('a late request adds its response to the attempt', () => {
  const table = new Table();
  table.take(anEvent({ urls: [aUrl({ response: answer('ok') })] }));
  const urls = [aUrl({ url: 'whk_2', outcome: 'retry', response: answer('late') })];
  table.take(anEvent({ at: at(3), late: true, urls }));
  expect(table.row!.tries).toHaveLength(1);
  expect(table.named).toEqual([0, 1]);
});

test('COPY can read a response with its special characters', () => {
  const { added } = moveResponses(undefined, applyEvent(undefined, failure(1, 'a\tb\\\n\0')));
  const [acceptedAt, delivery, seq, text = ''] = responseLine(added[0]!).split('\t');
  expect([acceptedAt, delivery, seq]).toEqual([String(Date.parse(at(0))), 'dlv_1', '0']);
  expect(JSON.parse(text.replaceAll('\\\\', '\\'))).toEqual(answer('a\tb\\\n\0'));
});
