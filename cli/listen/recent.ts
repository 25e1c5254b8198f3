/** The most recent distinct texts, up to a limit. */
export class Recent {
  readonly #texts = new Set<string>();

  constructor(private readonly atMost: number) {}

  has(text: string): boolean {
    return this.#texts.has(text);
  }

  /** @returns whether it is new */
  add(text: string): boolean {
    if (this.#texts.has(text)) return false;
    this.#texts.add(text);
    const [oldest] = this.#texts;
    if (this.#texts.size > this.atMost && oldest !== undefined) this.#texts.delete(oldest);
    return true;
  }
}
