import { RE2JS } from '@bufbuild/re2';
import { filtersOf } from '../../../shared/cel/compile';
import { NO_ROOM } from '../../../shared/cel/kept';
import { rendererOf } from '../../../shared/render/render-request';
import { type Destination } from '../../../shared/model/config';
import { type Message } from '../../../shared/model/message';
import { metrics } from '../../../shared/telemetry/metrics';
import { renderMetrics } from '../../../shared/telemetry/prometheus';
import { aDestination } from '../../support/factories';

/** What expressions cost for which a process has no memory left. */

// A third is for compiled expressions: 600 KB.
jest.mock('node:v8', () => ({
  ...jest.requireActual<object>('node:v8'),
  getHeapStatistics: () => ({ heap_size_limit: 1_800_000 }),
}));

const at = '2026-03-04T05:06:07.000Z';
const message: Message = {
  type: 'track',
  messageId: 'm',
  event: 'Order Completed',
  timestamp: at,
  receivedAt: at,
};

/**
 * `length` says how large a pattern is: 200 bytes for a character. Its compilations are counted.
 */
const pattern = (length: number, i: number) => `event.matches("^Order|${'x'.repeat(length)}${i}")`;

const filtered = (count: number, length: number, patterns = 1): Destination[] =>
  Array.from({ length: count }, (_, i) => {
    const filter = Array.from({ length: patterns }, (_, j) => pattern(length, i * patterns + j));
    return aDestination({ id: `dst_${length}_${patterns}_${i}`, filter: filter.join(' && ') });
  });

/** 4 KB each. */
const small = filtered(20, 5);
/** 100 KB each, which is less than the work limit of a message allows. */
const medium = filtered(10, 480);
/** 290 KB each, which is more. */
const large = filtered(40, 480, 3);

let compile: jest.SpyInstance;
beforeEach(() => {
  compile = jest.spyOn(RE2JS, 'compile');
});
afterEach(() => {
  jest.restoreAllMocks();
});

function routed(destinations: readonly Destination[]) {
  const costly = jest.fn();
  const ask = filtersOf(message, destinations.length, costly);
  compile.mockClear();
  const outcomes = destinations.map((each) => ask(each));
  return { outcomes, costly, compiled: compile.mock.calls.length };
}

/** How often an expression was compiled again or refused. */
async function anew(): Promise<number> {
  const name = 'waypost_expressions_compiled_anew_total ';
  const line = (await renderMetrics(metrics)).split('\n').find((each) => each.startsWith(name));
  return Number(line?.slice(name.length));
}

test('a filter that has no room and is too dear to compile for a message is refused', async () => {
  routed([...large, ...small]);
  const before = await anew();
  const { outcomes, costly, compiled } = routed([...small, ...large]);
  expect(compiled).toBe(0);
  expect(outcomes.slice(0, small.length)).toEqual(small.map(() => true));
  const refused = outcomes.filter((outcome) => outcome === NO_ROOM).length;
  expect(refused).toBeGreaterThan(large.length - 3);
  expect(costly).toHaveBeenCalledTimes(refused);
  expect(await anew()).toBe(before + refused);
});

test('a process that asks now and then says what the router does, whatever memory it has', () => {
  routed([...small, ...large]);
  expect(large.map((each) => filtersOf(message)(each))).toEqual(large.map(() => true));
});

test('a smaller one pays for it out of its own limit, and the destination is told of', () => {
  routed(medium);
  const { outcomes, costly, compiled } = routed(medium);
  expect(outcomes).toEqual(medium.map(() => true));
  expect(compiled).toBeGreaterThan(3);
  expect(costly).toHaveBeenCalledTimes(compiled);
  expect(costly.mock.calls[0]).toEqual([
    expect.objectContaining({ filter: expect.stringContaining('xxx') }),
    { units: expect.closeTo(1_840, -2), limit: 2_000 },
  ]);
});

test('a message for thousands of destinations compiles a few filters at most', () => {
  const many = filtered(2_000, 100);
  routed(many);
  const { outcomes, compiled } = routed(many);
  expect(outcomes.filter((outcome) => outcome === true).length).toBeGreaterThan(10);
  expect(compiled).toBeLessThan(300);
});

test('the same holds for templates', () => {
  const templated = (count: number, length: number, patterns: number) =>
    Array.from({ length: count }, (_, i) => {
      const conditions = Array.from({ length: patterns }, (_, j) => pattern(length, i + j));
      return aDestination({ request: { body: `{"isOrder": ${conditions.join(' && ')}}` } });
    });
  const [lean, rich] = [templated(5, 5, 1), templated(10, 480, 3)];
  const rendered = () => {
    const render = rendererOf(message, 'src_1', 15);
    return [...lean, ...rich].map((each) => render(each));
  };
  rendered();
  compile.mockClear();
  const results = rendered();
  expect(compile).not.toHaveBeenCalled();
  expect(results.slice(0, 5).map(({ kind }) => kind)).toEqual(lean.map(() => 'rendered'));
  expect(results.slice(8)).toEqual(
    rich.slice(3).map(() => ({ kind: 'failed', field: 'body', message: NO_ROOM })),
  );
});
