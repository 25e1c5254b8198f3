/**
 * Refuses records while a buffer is full, and asks for them again when it is half empty. Resuming earlier would pause and
 * resume partitions for every few records.
 */
export class Backpressure {
  #refused = false;

  /**
   * @param fill returns how full the buffer is, from 0 (empty) to 1 (full) or a little more
   * @param onRoom called once after one or more refusals, when refused records may be offered again
   */
  constructor(
    private readonly fill: () => number,
    private readonly onRoom: () => void,
  ) {}

  /** Returns whether a record may be taken now. A refusal is remembered until `resumeAtHalf` resumes. */
  accepts(): boolean {
    if (this.fill() < 1) return true;
    this.#refused = true;
    return false;
  }

  /** Resumes if records were refused and the buffer is at most half full. Call this whenever its fill has fallen. */
  resumeAtHalf(): void {
    if (!this.#refused || this.fill() > 0.5) return;
    this.#refused = false;
    this.onRoom();
  }
}
