/**
 * Which fetches brought nothing: pure, told what a consumer does. Each broker is asked in turns of its own, all at the
 * same time, so that what one of them had says nothing of the partitions of another.
 */
export class Fetches {
  readonly #nodes = new Map<number, Turn>();
  #begun = 0;

  /** A moment, for `emptySince`. */
  get moment(): number {
    return this.#begun;
  }

  /** A node is asked: its last turn, with what was done with the answer, is over. */
  begins(nodeId: number): void {
    const before = this.#nodes.get(nodeId);
    const emptyAt = before?.answered && !before.full ? before.begunAt : before?.emptyAt;
    this.#nodes.set(nodeId, { begunAt: ++this.#begun, answered: false, full: false, emptyAt });
  }

  answered(nodeId: number): void {
    const turn = this.#nodes.get(nodeId);
    if (turn) turn.answered = true;
  }

  /** Records came, from whichever node: none of the turns under way counts as empty. */
  brought(): void {
    for (const turn of this.#nodes.values()) turn.full = true;
  }

  /** The group met again, perhaps since a broker refused: what was answered may have been that. */
  interrupted(): void {
    this.brought();
  }

  /** Whether a turn of this node that began after that moment was answered with nothing. */
  emptySince(moment: number, nodeId: number): boolean {
    return (this.#nodes.get(nodeId)?.emptyAt ?? 0) > moment;
  }
}

interface Turn {
  begunAt: number;
  answered: boolean;
  full: boolean;
  /** when the last turn began that brought nothing */
  emptyAt: number | undefined;
}
