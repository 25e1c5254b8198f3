import { type EnvelopeParts, isEnvelope, type Item, type Range } from './found-item';

/** What the finder of calls has decided: which items are calls, and which pieces are lost. */

export interface FoundCall {
  range: Range;
  /** containers inside one another, the call included */
  depth: number;
  /** objects and arrays, the call included */
  containers: number;
  keys: number;
  /** the same object for all calls of one envelope */
  parts: EnvelopeParts;
}

/** A piece of the text that belongs to a call, but cannot be read as one. */
export interface LostPiece {
  range: Range;
}

/** Envelopes that may stand in one another, because the end of each outer one is missing. */
const MOST_NESTED = 100;

export class CallPieces {
  readonly #calls: FoundCall[] = [];
  /** where lost pieces begin */
  readonly #lost: number[] = [];
  /** Envelopes in an open one, before a fault: they were begun anew if nothing closes that one. */
  readonly #undecided: Item[] = [];
  readonly #beyond = { count: 0, start: -1 };
  /** envelopes in one another that are being accepted */
  #nesting = 0;
  /** What is being accepted stands before a fault. */
  isAtFault = false;

  constructor(private readonly mostItems: number) {}

  acceptEnvelope(envelope: Item): void {
    // An element can be an envelope only if this one was never ended, and the client began anew.
    const mayHoldEnvelopes = envelope.end < 0 && this.#nesting < MOST_NESTED;
    this.#nesting++;
    this.accept(envelope.batch ?? [], envelope.parts, mayHoldEnvelopes);
    this.#nesting--;
  }

  accept(items: readonly Item[], parts: EnvelopeParts, mayHoldEnvelopes = true): void {
    for (const item of items) {
      if (item.isDoubtful) {
        this.lose(item.start);
      } else if (mayHoldEnvelopes && isEnvelope(item, false)) {
        if (this.isAtFault) this.#undecided.push(item);
        else this.acceptEnvelope(item);
      } else if (item.end >= 0) {
        const { start, end, depth, containers, keys } = item;
        this.#calls.push({ range: [start, end], depth, containers, keys, parts });
      }
    }
  }

  /**
   * Decides about envelopes that stand in an open one, before a fault.
   * @param isClosed The text goes on to close the outer one, or was not read to its end: they are
   *   no batches of their own.
   */
  decideNested(isClosed: boolean): void {
    for (const item of this.#undecided) {
      if (isClosed) this.lose(item.start);
      else this.acceptEnvelope(item);
    }
  }

  /**
   * Accepts the items at the root: envelopes, and calls behind the end of an envelope that came too
   * early.
   */
  acceptAtRoot(items: readonly Item[], beginsText: boolean): void {
    for (const item of items) {
      if (isEnvelope(item, beginsText)) {
        this.acceptEnvelope(item);
      } else {
        this.accept([item], {});
      }
    }
  }

  lose(start: number): void {
    if (this.#lost.length < this.mostItems) this.#lost.push(start);
    else this.countBeyond(start);
  }

  countBeyond(start: number): void {
    if (this.#beyond.start < 0) this.#beyond.start = start;
    this.#beyond.count++;
  }

  /** Takes back all that was accepted or lost. */
  clear(): void {
    this.#calls.length = 0;
    this.#lost.length = 0;
  }

  /** @param length of the text, bytes */
  result(length: number) {
    const starts = new Set(this.#calls.map(({ range }) => range[0]));
    const lost = [...new Set(this.#lost)].filter((start) => !starts.has(start));
    const pieces: (FoundCall | LostPiece)[] = [
      ...this.#calls,
      ...lost.map((start): LostPiece => ({ range: [start, length] })),
    ].sort((a, b) => a.range[0] - b.range[0]);
    // A lost piece reaches to the next piece at most.
    for (const [i, piece] of pieces.entries()) {
      const next = pieces[i + 1];
      if (next && next.range[0] < piece.range[1]) piece.range = [piece.range[0], next.range[0]];
    }
    return { pieces, beyond: this.#beyond };
  }
}
