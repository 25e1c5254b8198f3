import { SERVICES, type ServiceName } from '../../../bin/service-list';
import { besideIn, type RunningServices, startReady } from '../../harness/services';
import { type CpuUse } from '../../harness/usage';
import { createCustomers } from '../load';
import { type Progress } from '../progress';
import { type Row } from '../rows';
import { type Bench, type Running, withSystem } from '../setup';
import {
  customerUrls,
  loopRows,
  type LoopSize,
  measurePipeline,
  type PipelineFigure,
  type Target,
} from './pipeline';

/** All services under closed loops, with one and several processes of each service on the path. */

const ON_PATH = ['ingest', 'router', 'delivery'] as const satisfies readonly ServiceName[];

export interface ProcessesSize {
  /** number of processes of a service, one case each */
  counts: readonly number[];
  batches: LoopSize;
  singles: LoopSize;
}

interface ProcessesFigure {
  cases: {
    /** number for each service on the path */
    processes: number;
    /** CPU by service: its processes together */
    batches: PipelineFigure;
    singles: PipelineFigure;
  }[];
}

export function processesRows({ cases }: ProcessesFigure, bareMicros: number): Row[] {
  return cases.flatMap(({ processes, batches, singles }) => [
    ...loopRows(`${String(processes)} of each, batches of 100`, batches, { bareMicros }),
    ...loopRows(`${String(processes)} of each, single calls`, singles, { bareMicros }),
  ]);
}

export async function measureProcesses(
  bench: Bench,
  size: ProcessesSize,
  progress: Progress,
): Promise<ProcessesFigure> {
  const figure: ProcessesFigure = { cases: [] };
  for (const processes of size.counts) {
    progress.note(`${String(processes)} of each`);
    figure.cases.push({ processes, ...(await measureCase(bench, size, processes)) });
  }
  return figure;
}

function measureCase(
  bench: Bench,
  { batches, singles }: ProcessesSize,
  processes: number,
): Promise<Record<'batches' | 'singles', PipelineFigure>> {
  const name = `processes-${String(processes)}`;
  return withSystem(bench, { name, services: SERVICES }, async (running) => {
    const more: RunningServices[] = [];
    try {
      const { ingestUrl, pids } = await startBeside(running, processes - 1, more);
      const customers = await createCustomers(running.system, customerUrls(bench));
      const target: Target = { ...running.system, ingestUrl, customers, pids };
      const measure = async (size: LoopSize) => {
        // Each process has separate connections, and compiles the code for itself.
        const warmUp = size.warmUp * processes;
        const shared = { ...size, warmUp, connections: Math.ceil(size.connections / processes) };
        const measured = await measurePipeline(bench, target, shared);
        return { ...measured, cpu: byService(measured.cpu) };
      };
      return { batches: await measure(batches), singles: await measure(singles) };
    } finally {
      for (const service of more) await service.stop();
    }
  });
}

/** Starts more processes of the services on the path, `count` for each, and adds them to `more`. */
async function startBeside(
  { system, pids: first }: Running,
  count: number,
  more: RunningServices[],
) {
  const ingestUrl = [system.ingestUrl];
  const pids = { ...first };
  for (let nth = 2; nth < 2 + count; nth++) {
    for (const name of ON_PATH) {
      const beside = await besideIn(system, name);
      const service = await startReady(beside, name);
      more.push(service);
      pids[`${name} ${String(nth)}`] = service.pids[name] ?? 0;
      if (name === 'ingest') ingestUrl.push(beside.ingestUrl);
    }
  }
  return { ingestUrl, pids };
}

/** Adds up the CPU of the processes of a service: `router` and `router 2`. Pure. */
export function byService(cpu: CpuUse): CpuUse {
  const byName: Record<string, number> = {};
  for (const [process, seconds] of Object.entries(cpu.byName)) {
    const [name = process] = process.split(' ', 1);
    byName[name] = (byName[name] ?? 0) + seconds;
  }
  return { ...cpu, byName };
}
