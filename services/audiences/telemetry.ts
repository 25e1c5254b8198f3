import { type Count, metrics, only } from '../../shared/telemetry/metrics';
import { type Repartitioner } from './repartition/repartitioner';
import { type Report } from './status';

/** Metrics of the audiences service. */

const failed = metrics.counter({
  name: 'waypost.conditions.failed',
  help: 'Evaluations of conditions that failed. A failure counts as no membership.',
  labels: { reason: 'the code of the failure' },
});
const failures = new Map<string, Count>();

/**
 * Counts a condition that could not be evaluated. @param reason the code of the failure, of which
 * few exist
 */
export function watchFailure(reason: string): void {
  let count = failures.get(reason);
  if (!count) failures.set(reason, (count = failed.of({ reason })));
  count.value++;
}

const refusals = metrics
  .counter({
    name: 'waypost.profiles.refused',
    help:
      'Changes of profiles that were refused, because they are too large or because Kafka ' +
      'refused them.',
  })
  .of({});

/** Counts changes that did not fit into their profiles. */
export function watchRefused(count: number): void {
  refusals.value += count;
}

/** The parts of the pipeline that are observed. The pipeline itself counts through this file. */
interface Observed {
  repartitioner: Pick<Repartitioner, 'counts'>;
  processors: Iterable<[number, { report(): Report | undefined }]>;
}

/** Registers the metrics that are read from the pipeline. */
export function observeAudiences(pipeline: () => Observed | undefined): void {
  metrics.counted(
    {
      name: 'waypost.profiles.messages',
      help:
        'Messages read for profiles. `skipped`: without a user, or produced by the audiences ' +
        'service itself.',
      labels: { outcome: '`copied`, `skipped`, `rejected`' },
    },
    () => {
      const counts = pipeline()?.repartitioner.counts;
      if (!counts) return [];
      return Object.entries(counts).map(([outcome, value]) => ({ labels: { outcome }, value }));
    },
  );
  const sum = (read: (report: Report) => number) => () => {
    let total = 0;
    for (const [, processor] of pipeline()?.processors ?? []) {
      const report = processor.report();
      if (report) total += read(report);
    }
    return only(total);
  };
  const gauge = (name: string, help: string, read: ReturnType<typeof sum>) =>
    metrics.gauge({ name, help }, read);
  gauge(
    'waypost.profiles',
    'Users whose profiles this process holds.',
    sum((report) => report.profiles),
  );
  gauge(
    'waypost.profiles.full',
    'Users of this process whose profiles are full.',
    sum((report) => report.full),
  );
  gauge(
    'waypost.profiles.store.size',
    'Size of the stores of this process, in bytes.',
    sum((report) => report.storeBytes),
  );
  gauge(
    'waypost.profiles.calls.pending',
    'Identify calls of audiences that Kafka has not acknowledged.',
    sum((report) => report.waiting),
  );
}
