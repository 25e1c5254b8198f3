import { CompactingMap } from '../../../shared/service/compacting-map';

/**
 * First in, first out, with removal from the middle, each in constant time. (Neither an array nor a `Set` has that: the
 * one moves what lies behind, the other walks over what was removed.)
 */

interface Node<T> {
  readonly value: T;
  before: Node<T> | undefined;
  after: Node<T> | undefined;
}

/** A value is in it once at most. */
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

  /** In the order they came. */
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

  /** Takes the first. */
  shift(): T | undefined {
    return this.#take(this.#first);
  }

  /** Takes the last. */
  pop(): T | undefined {
    return this.#take(this.#last);
  }

  /** @returns whether it was in it */
  delete(value: T): boolean {
    return this.#take(this.#nodes.get(value)) !== undefined;
  }

  #take(node: Node<T> | undefined): T | undefined {
    if (!node) return undefined;
    if (node.before) node.before.after = node.after;
    else this.#first = node.after;
    if (node.after) node.after.before = node.before;
    else this.#last = node.before;
    // One that grew old must not keep those that came after it (compacting-map.ts).
    node.before = node.after = undefined;
    this.#nodes.delete(node.value);
    return node.value;
  }
}
