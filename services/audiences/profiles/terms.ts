import { type InRecord } from '../../../shared/kafka/port';
import { readChange, termOf } from './write-step';

/**
 * Tells the records of a partition's owners from those that a process wrote after another one had
 * taken over: a process that was frozen does not know of its successor yet. Each owner begins with
 * a record of its own term, so that a record behind it with an earlier term is void.
 *
 * Compaction keeps the last record of a key, also a void one. The owner therefore writes these
 * users, and its state, again.
 */
export class Terms {
  /** void records were read */
  hasVoid = false;
  /** the users that they are about */
  readonly users = new Set<string>();

  /** @param latest the latest term so far */
  constructor(public latest: number) {}

  /** Reads the next record. @returns whether it counts */
  read(record: InRecord): boolean {
    const term = termOf(record);
    if (term >= this.latest) {
      this.latest = term;
      return true;
    }
    this.hasVoid = true;
    const change = readChange(record);
    if (change?.kind === 'profile') this.users.add(change.user);
    return false;
  }
}
