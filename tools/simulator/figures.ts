import { Histogram } from './histogram';

/** The figures of a run: counts, waits and time series, by name. */

/** A count for each slice of virtual time. */
export class Course {
  readonly values: number[] = [];

  constructor(readonly sliceMs: number) {}

  add(nowMs: number, by = 1): void {
    const i = Math.floor(nowMs / this.sliceMs);
    while (this.values.length <= i) this.values.push(0);
    this.values[i] = (this.values[i] ?? 0) + by;
  }

  /** Keeps the maximum of the slice. */
  peak(nowMs: number, value: number): void {
    this.add(nowMs, 0);
    const i = Math.floor(nowMs / this.sliceMs);
    this.values[i] = Math.max(this.values[i] ?? 0, value);
  }

  get most(): number {
    return this.values.reduce((a, b) => Math.max(a, b), 0);
  }
}

export class Figures {
  readonly #counts = new Map<string, number>();
  readonly #waits = new Map<string, Histogram>();
  readonly #courses = new Map<string, Course>();

  constructor(private readonly sliceMs: number) {}

  count(name: string, by = 1): void {
    this.#counts.set(name, this.counted(name) + by);
  }

  counted(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  most(name: string, value: number): void {
    if (value > this.counted(name)) this.#counts.set(name, value);
  }

  /** Returns the histogram with this name, of waits or other values. */
  of(name: string): Histogram {
    let waits = this.#waits.get(name);
    if (!waits) this.#waits.set(name, (waits = new Histogram()));
    return waits;
  }

  course(name: string): Course {
    let course = this.#courses.get(name);
    if (!course) this.#courses.set(name, (course = new Course(this.sliceMs)));
    return course;
  }

  /** Returns all counts by name: two runs with one seed have the same. */
  counts(): Record<string, number> {
    return Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}
