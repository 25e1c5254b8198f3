import { byService } from '../../../../tools/bench/cases/processes';
import { type PipelineFigure } from '../../../../tools/bench/report/figures';
import { processesTable } from '../../../../tools/bench/report/processes-table';

/** @param router CPU-seconds for 1,000 webhooks */
function aLoop(router: number): PipelineFigure {
  const cpu = { seconds: 1, byName: { router }, foreignCores: 0, stolenCores: 0 };
  const counts = { missing: 0, repeats: 0, diverted: 0, eventsPerPost: 1 };
  return { count: 1_000, callsPerRequest: 1, connections: 1, perSecond: 1_500, cpu, ...counts };
}

test('the CPU of a service is that of all its processes', () => {
  const cpu = {
    seconds: 1,
    byName: { router: 1, 'router 2': 2, broker: 4 },
    foreignCores: 0,
    stolenCores: 0,
  };
  expect(byService(cpu).byName).toEqual({ router: 3, broker: 4 });
});

test('the table has a column for each number of processes, and the cost of each service', () => {
  const cases = [1, 2].map((processes) => ({
    processes,
    batches: aLoop(0.04),
    singles: aLoop(0.05 * processes),
  }));
  const rows = processesTable([{ bare: [], failures: [], processes: { cases } }]);
  expect(rows[0]).toEqual(['processes of ingest, router and delivery', '1 each', '2 each']);
  expect(rows).toContainEqual(['single calls: webhooks/s', '1,500', '1,500']);
  expect(rows).toContainEqual(['single calls: router, CPU-µs/webhook', '50.0', '100']);
  expect(rows).toContainEqual(['batches of 100: router, CPU-µs/webhook', '40.0', '40.0']);
});
