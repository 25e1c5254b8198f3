import { SERVICES } from '../../../bin/service-list';
import { createCustomers } from '../load';
import { type Progress } from '../progress';
import { type BatchedFigure } from '../report/figures';
import { type Bench, withSystem } from '../setup';
import { measureDelivery } from './delivery';
import { type LoopSize, measurePipeline } from './pipeline';

/**
 * Destinations with batches beside destinations with a POST for each event: delivery alone, and all
 * services.
 */

export interface BatchedSize {
  /** of a batch */
  maxEvents: number;
  delivery: { warmUp: number; count: number };
  all: LoopSize;
}

/** More than the events of any batch have. */
const MAX_BYTES = 5_000_000;
/** Longer than a busy lane needs to fill a batch. */
const MAX_WAIT_MS = 1_000;
const CUSTOMERS = 4;

export async function measureBatched(
  bench: Bench,
  size: BatchedSize,
  progress: Progress,
): Promise<BatchedFigure> {
  const { maxEvents } = size;
  progress.note('delivery alone, single POSTs');
  const single = await measureDelivery(bench, size.delivery);
  progress.note(`delivery alone, batches of ${String(maxEvents)}`);
  const batch = { maxEvents, maxBytes: MAX_BYTES, maxWaitMs: MAX_WAIT_MS };
  const batched = await measureDelivery(bench, size.delivery, { more: { batch } });
  return { maxEvents, delivery: { single, batched }, all: await measureAll(bench, size, progress) };
}

function measureAll(
  bench: Bench,
  size: BatchedSize,
  progress: Progress,
): Promise<BatchedFigure['all']> {
  return withSystem(bench, { name: 'batched', services: SERVICES }, async ({ system, pids }) => {
    const measure = async (name: string, more: object) => {
      progress.note(`all services, ${name}`);
      const urls = Array.from(
        { length: CUSTOMERS },
        (_, i) => `${bench.endpoint.origin}/ok/${name}-${String(i)}`,
      );
      const customers = await createCustomers(system, urls, more);
      return measurePipeline(bench, { ...system, customers, pids }, size.all);
    };
    const { maxEvents } = size;
    const batch = { maxEvents, maxBytes: MAX_BYTES, maxWait: `${String(MAX_WAIT_MS)}ms` };
    const single = await measure('single', {});
    return { single, batched: await measure('batched', { batch }) };
  });
}
