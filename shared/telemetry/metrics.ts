/**
 * Metrics as plain numbers in objects: counting adds to a field, and only a reader (Prometheus, or
 * the SDK) pays for names and labels. Labels follow the OpenTelemetry conventions; `prometheus.ts`
 * and `otel-sdk.ts` export them.
 *
 * Invariant: the number of series is bounded. A label's values are few and known; if they are not
 * (a status, say), values beyond `MOST_SERIES` are counted as `other`.
 */

export type Labels = Readonly<Record<string, string>>;

export interface MetricInfo {
  /** from the conventions, or with the prefix `waypost.` */
  name: string;
  help: string;
  /** seconds, bytes, or a share from 0 to 1 */
  unit?: 's' | 'By' | '1';
  /** the labels, each with its values or a note, for docs/reference/metrics.md */
  labels?: Readonly<Record<string, string>>;
}

export interface Sample {
  labels: Labels;
  value: number;
}

const MOST_SERIES = 100;

/** One counter; callers may increase `value` directly. */
export class Count {
  value = 0;
  constructor(readonly labels: Labels) {}

  reset(): void {
    this.value = 0;
  }
}

/** One series of a histogram. */
export class Distribution {
  /** by bucket, not cumulative; the last bucket is beyond all bounds */
  readonly counts: number[];
  sum = 0;

  constructor(
    readonly labels: Labels,
    private readonly of: Pick<HistogramMetric, 'bounds' | 'tee'>,
  ) {
    this.counts = new Array<number>(of.bounds.length + 1).fill(0);
  }

  get bounds(): readonly number[] {
    return this.of.bounds;
  }

  reset(): void {
    this.counts.fill(0);
    this.sum = 0;
  }

  record(value: number): void {
    const { bounds, tee } = this.of;
    const { counts } = this;
    let i = 0;
    while (i < bounds.length && value > (bounds[i] ?? Infinity)) i++;
    counts[i] = (counts[i] ?? 0) + 1;
    this.sum += value;
    if (tee) tee(value, this.labels);
  }
}

/** The series of one name, by their labels. */
export class Family<T extends { readonly labels: Labels }> {
  readonly #series = new Map<string, T>();

  constructor(
    readonly info: MetricInfo,
    private readonly make: (labels: Labels) => T,
  ) {}

  /**
   * Returns the series with these labels; keep it if you count often. Pass labels in the same order
   * each time.
   */
  of(labels: Labels = {}): T {
    const key = Object.values(labels).join('\0');
    const known = this.#series.get(key);
    if (known) return known;
    if (this.#series.size >= MOST_SERIES && !isOther(labels)) {
      return this.of(Object.fromEntries(Object.keys(labels).map((name) => [name, OTHER])));
    }
    const series = this.make(labels);
    this.#series.set(key, series);
    return series;
  }

  all(): Iterable<T> {
    return this.#series.values();
  }
}

const OTHER = 'other';

function isOther(labels: Labels): boolean {
  return Object.values(labels).every((value) => value === OTHER);
}

export interface ReadMetric {
  kind: 'counter' | 'gauge';
  info: MetricInfo;
  read: () => Iterable<Sample>;
}

export interface HistogramMetric {
  kind: 'histogram';
  info: MetricInfo;
  bounds: readonly number[];
  /** receives each value too: the SDK's own histogram, if there is one */
  tee: ((value: number, labels: Labels) => void) | undefined;
  read: () => Iterable<Distribution>;
}

export type Metric = ReadMetric | HistogramMetric;

export class Metrics {
  readonly #metrics: Metric[] = [];
  readonly #families: Family<Count | Distribution>[] = [];
  readonly #refreshers = new Set<() => Promise<void>>();
  #refreshing: Promise<void> | undefined;
  #onAdded: (metric: Metric) => void = () => undefined;
  /** The service, a label of all series. */
  service = '';

  counter(info: MetricInfo): Family<Count> {
    const family = new Family(info, (labels) => new Count(labels));
    this.#families.push(family);
    this.#add({ kind: 'counter', info, read: () => family.all() });
    return family;
  }

  /** Registers a counter whose values are stored elsewhere. */
  counted(info: MetricInfo, read: () => Iterable<Sample>): void {
    this.#add({ kind: 'counter', info, read });
  }

  gauge(info: MetricInfo, read: () => Iterable<Sample>): void {
    this.#add({ kind: 'gauge', info, read });
  }

  histogram(info: MetricInfo, bounds: readonly number[]): Family<Distribution> {
    const metric: HistogramMetric = {
      kind: 'histogram',
      info,
      bounds,
      tee: undefined,
      read: () => family.all(),
    };
    const family = new Family(info, (labels) => new Distribution(labels, metric));
    this.#families.push(family);
    this.#add(metric);
    return family;
  }

  /** Calls `onAdded` for every metric, present and future. */
  each(onAdded: (metric: Metric) => void): void {
    this.#onAdded = onAdded;
    for (const metric of this.#metrics) onAdded(metric);
  }

  /**
   * Registers a function that fetches values before metrics are read. @returns a function that
   * removes it
   */
  beforeReading(refresh: () => Promise<void>): () => void {
    this.#refreshers.add(refresh);
    return () => this.#refreshers.delete(refresh);
  }

  /** Runs these functions. Await it before reading metrics; concurrent readers share one run. */
  refresh(): Promise<void> {
    this.#refreshing ??= Promise.allSettled([...this.#refreshers].map((refresh) => refresh())).then(
      () => {
        this.#refreshing = undefined;
      },
    );
    return this.#refreshing;
  }

  all(): readonly Metric[] {
    return this.#metrics;
  }

  /**
   * Runs work that must not be counted, and then sets every counter and histogram back to 0. Only
   * for a process that has counted nothing yet.
   */
  async uncounted(work: () => Promise<void>): Promise<void> {
    const tees = this.#metrics.flatMap((metric) =>
      metric.kind === 'histogram' ? [{ metric, tee: metric.tee }] : [],
    );
    for (const { metric } of tees) metric.tee = undefined;
    try {
      await work();
    } finally {
      for (const { metric, tee } of tees) metric.tee = tee;
      for (const family of this.#families) for (const series of family.all()) series.reset();
    }
  }

  #add(metric: Metric): void {
    this.#metrics.push(metric);
    this.#onAdded(metric);
  }
}

/** The metrics of this process. */
export const metrics = new Metrics();

/** Returns one sample without labels. */
export function only(value: number): Sample[] {
  return [{ labels: {}, value }];
}

/** Histogram bounds in seconds, from the conventions of HTTP and messaging. */
export const LATENCY_BOUNDS = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];
