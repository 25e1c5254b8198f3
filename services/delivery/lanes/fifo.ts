import { CompactingMap } from '../../../shared/service/compacting-map';

/**
 * First in, first out, with removal from the middle, each in constant time. (Neither an array nor a `Set` does this: an
 * array moves all later elements, and a `Set` iterates over removed entries.)
 */

interface Node<T> {
  readonly value: T;
  before: Node<T> | undefined;
  after: Node<T> | undefined;
}

/** Holds each value at most once. */
export class Fifo<T extends object> {
  readonly #nodes = new CompactingMap<T, Node<T>>();
  #first: Node<T> | undefined;
  #last: Node<T> | undefined;

  get size(): number {
    return this.#nodes.size;
  }

  get first(): T | undefined {
    return this.#first?.value;
  }

  /** Returns the values in insertion order. */
  values(): T[] {
    return [...this.#nodes.keys()];
  }

  has(value: T): boolean {
    return this.#nodes.has(value);
  }

  push(value: T): void {
    if (this.#nodes.has(value)) return;
    const node: Node<T> = { value, before: this.#last, after: undefined };
    if (this.#last) this.#last.after = node;
    else this.#first = node;
    this.#last = node;
    this.#nodes.set(value, node);
  }

  /** Removes and returns the first value. */
  shift(): T | undefined {
    return this.#take(this.#first);
  }

  /** Removes and returns the last value. */
  pop(): T | undefined {
    return this.#take(this.#last);
  }

  /** @returns whether the value was present */
  delete(value: T): boolean {
    return this.#take(this.#nodes.get(value)) !== undefined;
  }

  #take(node: Node<T> | undefined): T | undefined {
    if (!node) return undefined;
    if (node.before) node.before.after = node.after;
    else this.#first = node.after;
    if (node.after) node.after.before = node.before;
    else this.#last = node.before;
    // Unlink: an old node must not keep later nodes in memory (compacting-map.ts).
    node.before = node.after = undefined;
    this.#nodes.delete(node.value);
    return node.value;
  }
}
