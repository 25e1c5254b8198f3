import { bareRows, measureBare } from './cases/baseline';
import { deliveryRows, measureDelivery } from './cases/delivery';
import { earlyRows, measureEarly } from './cases/early';
import { filtersRows, measureFilters } from './cases/filters';
import { hostileRows, measureHostile } from './cases/hostile';
import { httpsRows, measureHttps } from './cases/https';
import { isolationRows, measureIsolation } from './cases/isolation';
import { ledgerRows, measureLedger } from './cases/ledger';
import { loadRows, measureLoadCurve } from './cases/load-curve';
import { batchesRows, measureLoop, singlesRows } from './cases/pipeline';
import { measureProcesses, processesRows } from './cases/processes';
import { measureRolling, rollingRows } from './cases/rolling';
import { measureSoak, soakRows } from './cases/soak';
import { measureUsage, usageRows } from './cases/usage';
import { measureWaiting, waitingRows } from './cases/waiting';
import { type Progress } from './progress';
import { type Row } from './rows';
import { type Bench } from './setup';
import { type Sizes } from './sizes';

/** The parts of a run. */

interface PartOf {
  /** takes long for each figure: measured in the first round only */
  once?: boolean;
  /** takes an hour: measured only if it is named */
  asked?: boolean;
  measure(bench: Bench, sizes: Sizes, progress: Progress): Promise<Measured>;
}

export interface Measured {
  figures: object;
  rows: Row[];
}

/** Measures a part, and describes its figures. */
function alone<F extends object>(
  measure: (bench: Bench, sizes: Sizes, progress: Progress) => Promise<F>,
  rowsOf: (figures: F) => Row[],
): PartOf['measure'] {
  return async (bench, sizes, progress) => {
    const figures = await measure(bench, sizes, progress);
    return { figures, rows: rowsOf(figures) };
  };
}

/** Measures the bare loop just before, because a machine's speed may change within minutes. */
function besideBare<F extends object>(
  measure: (bench: Bench, sizes: Sizes, progress: Progress) => Promise<F>,
  rowsOf: (figures: F, bareMicros: number) => Row[],
): PartOf['measure'] {
  return async (bench, sizes, progress) => {
    progress.note('bare loop');
    const { microsEach } = await bareLoop(bench, sizes);
    const figures = await measure(bench, sizes, progress);
    return { figures: { bareMicros: microsEach, ...figures }, rows: rowsOf(figures, microsEach) };
  };
}

function bareLoop(bench: Bench, { bare }: Sizes) {
  bench.endpoint.reset({ ids: false });
  return measureBare({ origin: bench.endpoint.origin, ...bare });
}

const TABLE = {
  bare: { measure: alone(bareLoop, bareRows) },
  delivery: {
    measure: besideBare((bench, { delivery }) => measureDelivery(bench, delivery), deliveryRows),
  },
  https: { measure: alone((bench, { https }, p) => measureHttps(bench, https, p), httpsRows) },
  filters: {
    once: true,
    measure: alone((bench, { filters }, p) => measureFilters(bench, filters, p), filtersRows),
  },
  ledger: {
    once: true,
    measure: alone((bench, { ledger }, p) => measureLedger(bench, ledger, p), ledgerRows),
  },
  load: {
    once: true,
    measure: besideBare((bench, { load }, p) => measureLoadCurve(bench, load, p), loadRows),
  },
  batches: {
    measure: besideBare((bench, { batches }) => measureLoop(bench, batches), batchesRows),
  },
  singles: {
    measure: besideBare((bench, { singles }) => measureLoop(bench, singles), singlesRows),
  },
  processes: {
    once: true,
    measure: besideBare(
      (bench, { processes }, p) => measureProcesses(bench, processes, p),
      processesRows,
    ),
  },
  rolling: {
    once: true,
    measure: alone((bench, { rolling }, p) => measureRolling(bench, rolling, p), rollingRows),
  },
  isolation: {
    measure: alone(
      (bench, { isolation }, p) => measureIsolation(bench, isolation, p),
      isolationRows,
    ),
  },
  waiting: {
    once: true,
    measure: alone((bench, { waiting }, p) => measureWaiting(bench, waiting, p), waitingRows),
  },
  early: {
    once: true,
    measure: alone((bench, { early }, p) => measureEarly(bench, early, p), earlyRows),
  },
  hostile: {
    measure: alone((bench, { hostile }, p) => measureHostile(bench, hostile, p), hostileRows),
  },
  usage: {
    once: true,
    measure: alone((bench, { usage }, p) => measureUsage(bench, usage, p), usageRows),
  },
  soak: {
    once: true,
    asked: true,
    measure: alone((bench, { soak }, p) => measureSoak(bench, soak, p), soakRows),
  },
} satisfies Record<keyof Sizes, PartOf>;

export type Part = keyof typeof TABLE;

/** In the order of a run. */
export const PARTS: Readonly<Record<Part, PartOf>> = TABLE;
