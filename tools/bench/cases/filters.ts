import { type OutRecord } from '../../../shared/kafka/port';
import { MESSAGES } from '../../../shared/kafka/topics';
import { BEYOND, committedBy, drainBetween, drained, type DrainFigure } from '../drain';
import { messageOf } from '../payload';
import { type Progress } from '../progress';
import { median } from '../arithmetic';
import { micros, PER_MESSAGE, type Row, rows } from '../rows';
import { messageRecord, openSeeder, type Seeder, SOURCE, sourceOf } from '../seed';
import { type Bench, withSystem } from '../setup';

/**
 * The cost of filters for the router: the same messages for the same destinations,
 * without any and with each. The cases run in rotation, forwards and backwards, because the
 * machine's speed may change within minutes.
 */

export interface FiltersSize {
  destinations: number;
  warmUp: number;
  count: number;
  turns: number;
}

interface Case {
  name: string;
  /** of each destination */
  filter?: string;
  blockedEvents?: string[];
}

interface FiltersFigure {
  destinations: number;
  /** each in every turn */
  cases: { name: string; turns: DrainFigure[] }[];
}

/** The case that the others are compared with. */
const PLAIN = 'no filter';
/** Every delivery is rendered as without a filter: the additional cost is the filter's. */
const MATCHING = ['filters match', 'expensive filters match'];

const CASES: readonly Case[] = [
  { name: PLAIN },
  {
    name: '20 other events blocked',
    blockedEvents: Array.from({ length: 20 }, (_, i) => `Heartbeat ${String(i)}`),
  },
  {
    name: 'filters match',
    filter: 'type == "track" && event == "Order Completed" && properties.total > 100',
  },
  {
    name: 'expensive filters match',
    filter:
      'properties.products.exists(p, p.price > 65 && ' +
      'p.name.lowerAscii().contains("teapot")) && ' +
      'context.page.url.matches("^https://shop[.]example[.]com/(cart|checkout)")',
  },
  {
    name: 'no filter matches',
    filter: 'type == "track" && event == "Order Completed" && properties.total > 1000',
  },
  { name: 'event blocked', blockedEvents: ['Order Completed'] },
];

/** Compares each turn of a case with the plain case of the same turn. */
export function filtersRows({ destinations, cases }: FiltersFigure): Row[] {
  const turnsOf = (name: string) =>
    (cases.find((each) => each.name === name)?.turns ?? []).map(
      (turn) => micros(turn, 'router') ?? NaN,
    );
  const plain = turnsOf(PLAIN);
  return cases.flatMap(({ name }) => {
    const turns = turnsOf(name);
    const beside = (compare: (value: number, without: number) => number) =>
      median(turns.map((value, i) => compare(value, plain[i] ?? NaN)));
    const all = rows(`router, ${name}`, [
      ['', PER_MESSAGE, median(turns)],
      ['', `× ${PLAIN}`, beside((value, without) => value / without)],
      [': one filter', 'CPU-µs', beside((value, without) => (value - without) / destinations)],
    ]);
    return all.slice(0, name === PLAIN ? 1 : MATCHING.includes(name) ? 3 : 2);
  });
}

export async function measureFilters(
  bench: Bench,
  size: FiltersSize,
  progress: Progress,
): Promise<FiltersFigure> {
  const cases = CASES.map(({ name }): FiltersFigure['cases'][number] => ({ name, turns: [] }));
  for (let turn = 0; turn < size.turns; turn++) {
    const order = [...CASES.keys()];
    for (const i of turn % 2 === 0 ? order : order.reverse()) {
      const [each, figure] = [CASES[i], cases[i]];
      if (!each || !figure) continue;
      const about = `${each.name} (turn ${String(turn + 1)} of ${String(size.turns)})`;
      progress.note(about);
      figure.turns.push(await measureRouter(bench, size, each));
    }
  }
  return { destinations: size.destinations, cases };
}

async function measureRouter(bench: Bench, size: FiltersSize, each: Case): Promise<DrainFigure> {
  const open: { seeder?: Seeder } = {};
  const end = size.warmUp + size.count;
  const before = async ({ env }: { env: Record<string, string> }) => {
    const seeder = (open.seeder = await openSeeder(env));
    const { blockedEvents } = each;
    await seeder.write([
      { kind: 'source', data: sourceOf(SOURCE, blockedEvents && { blockedEvents }) },
    ]);
    const urls = Array.from(
      { length: size.destinations },
      (_, i) => `${bench.endpoint.origin}/ok/${String(i)}`,
    );
    await seeder.destinations(urls, each.filter === undefined ? {} : { filter: each.filter });
    await seeder.append(tracks(end + BEYOND));
  };
  try {
    return await withSystem(
      bench,
      { name: 'filters', services: ['router'], before },
      async ({ pids }) => {
        const { seeder } = open;
        if (!seeder) throw new Error('nothing was seeded');
        const drain = {
          what: 'router',
          done: () => committedBy(seeder.kafka, 'router', MESSAGES),
          pids,
        };
        const warm = await drained(drain, size.warmUp);
        return drainBetween(warm, await drained(drain, end));
      },
    );
  } finally {
    await open.seeder?.close();
  }
}

function* tracks(count: number): Generator<OutRecord> {
  for (let i = 0; i < count; i++) yield messageRecord(messageOf(i, `bench-message-${String(i)}`));
}
