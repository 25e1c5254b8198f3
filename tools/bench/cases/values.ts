import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parseJson, stringifyJson } from '../../../shared/json/json';
import { median } from '../arithmetic';
import { type Row, rows } from '../rows';

/**
 * What two things cost that hold for every call and every connection: numbers that keep their
 * digits, beside `JSON`; and the context without the authorities that must not be trusted, beside
 * Node's own.
 */

export interface ValuesSize {
  rounds: number;
}

interface ValuesFigure {
  /** CPU of reading and writing a batch, × `JSON` */
  withoutExactNumbers: number;
  withExactNumbers: number;
  /** of a process without and with what leaves authorities out */
  contexts: { own: ContextTimes; trusted: ContextTimes };
}

interface ContextTimes {
  /** of the first connection, which makes the context */
  firstMs: number;
  /** of each further one */
  laterMicros: number;
}

export const valuesRows = ({
  withoutExactNumbers,
  withExactNumbers,
  contexts: { own, trusted },
}: ValuesFigure): Row[] => [
  ...rows('JSON of a batch: ', [
    ['its numbers are doubles', '× JSON', withoutExactNumbers, 1.2],
    ['each call has one that is not', '× JSON', withExactNumbers],
  ]),
  ...rows('context of authorities: ', [
    ['first connection', 'ms beyond that of Node', trusted.firstMs - own.firstMs],
    ['each further connection', 'µs beyond that of Node', trusted.laterMicros - own.laterMicros],
  ]),
];

const CALLS = 500;
const WARM_UP = 20;
const CALL =
  '{"type":"track","userId":"user-0001","event":"Order Completed","timestamp":' +
  '"2026-11-21T08:19:04.000Z","properties":{"path":"/shop/checkout/done","orderId":#,' +
  '"total":19.99,"currency":"EUR","items":[{"sku":"A-17","price":9.995,"quantity":2}]}}';
const batchOf = (number: string) =>
  `{"batch":[${`${CALL.replace('#', number)},`.repeat(CALLS - 1)}${CALL.replace('#', number)}]}`;
const DOUBLES = batchOf('915337495251');
const EXACT = batchOf('7615917337495251231');

export function measureValues({ rounds }: ValuesSize): Promise<ValuesFigure> {
  const lossless = (text: string) => () => stringifyJson(parseJson(text));
  const plain = (text: string) => () => JSON.stringify(JSON.parse(text));
  const times = medians(rounds, [plain(DOUBLES), lossless(DOUBLES), plain(EXACT), lossless(EXACT)]);
  const [plainDoubles = NaN, doubles = NaN, plainExact = NaN, exact = NaN] = times;
  return Promise.resolve({
    withoutExactNumbers: doubles / plainDoubles,
    withExactNumbers: exact / plainExact,
    contexts: { own: contextTimes(false), trusted: contextTimes(true) },
  });
}

/** Returns the CPU time of each, µs; they take turns. */
function medians(rounds: number, each: readonly (() => string)[]): number[] {
  const times: number[][] = each.map(() => []);
  for (let round = 0; round < WARM_UP + rounds; round++) {
    for (const [i, one] of each.entries()) {
      const before = process.cpuUsage();
      one();
      const { user, system } = process.cpuUsage(before);
      if (round >= WARM_UP) times[i]?.push(user + system);
    }
  }
  return times.map(median);
}

const ROOTS = join(__dirname, '../../../shared/runtime/distrusted-roots.js');
const LATER = 1_000;

/** In a process of its own: what a process trusts is decided once. */
function contextTimes(leavesOut: boolean): ContextTimes {
  const script = `
    const tls = require('node:tls');
    if (${String(leavesOut)}) require(${JSON.stringify(ROOTS)}).distrustRoots();
    // As a connection makes it.
    const connect = () => tls.connect({ port: 1, host: '127.0.0.1' }).on('error', () => undefined).destroy();
    const at = [performance.now()];
    connect();
    at.push(performance.now());
    for (let i = 0; i < ${String(LATER)}; i++) connect();
    at.push(performance.now());
    console.log(JSON.stringify(at));`;
  const [from = NaN, first = NaN, later = NaN] = JSON.parse(
    execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' }),
  ) as number[];
  return { firstMs: first - from, laterMicros: ((later - first) / LATER) * 1_000 };
}
