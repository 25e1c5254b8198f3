import { type ConsumerCommands } from '../client/restarting-consumer';
import { type TopicPartition } from './partition';

/**
 * The session timeout: a member that sends no heartbeat for this time is removed from its group,
 * and a killed process holds its partitions for this time. kafkajs sends heartbeats only between
 * fetches, so that a fetch must wait much less.
 */
export const SESSION_MS = 6_000;
/** Longer than a member needs to join again once the broker answers. */
const RETURN_MS = 3_000;

/**
 * Leaves partitions to their owners after a pause of the broker. While it stands still, all
 * sessions end, and the first member to join again is assigned the partitions of the others. Only
 * they know which records they have done since their last commits, so that they have some seconds
 * to join and claim them again. Times are by `performance.now()`.
 */
export class ReturningMembers {
  /** when the group last answered; undefined before this member has joined */
  #heardAt: number | undefined;
  /** until when others may return, and the ids that this member had before */
  #returns: { untilMs: number; had: ReadonlySet<string> } | undefined;
  #left: readonly TopicPartition[] = [];

  /** Notes an answer of the group. */
  onHeartbeat(): void {
    this.#heardAt = performance.now();
  }

  /**
   * Returns the part of an assignment to read, and when to ask for the rest.
   * @param had ids of the partitions that this member has claimed
   */
  divide(
    places: ReadonlyMap<string, TopicPartition>,
    had: readonly string[],
    orders: Pick<ConsumerCommands, 'pause' | 'resume'>,
  ): { taken: ReadonlyMap<string, TopicPartition>; restAt: number } {
    const now = performance.now();
    const wasAway = this.#heardAt !== undefined && now - this.#heardAt > SESSION_MS;
    if (wasAway) this.#returns = { untilMs: now + RETURN_MS, had: new Set(had) };
    else if (this.#returns && now >= this.#returns.untilMs) this.#returns = undefined;
    this.#heardAt = now;
    const returns = this.#returns;
    const taken = returns ? new Map([...places].filter(([id]) => returns.had.has(id))) : places;
    if (this.#left.length > 0) orders.resume(this.#left);
    this.#left = [...places].filter(([id]) => !taken.has(id)).map(([, place]) => place);
    // kafkajs would fetch them again and again.
    if (this.#left.length > 0) orders.pause(this.#left);
    return { taken, restAt: returns && this.#left.length > 0 ? returns.untilMs : Infinity };
  }
}
