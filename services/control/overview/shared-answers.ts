/** Questions whose answers are kept at the same time. */
const MOST_ANSWERS = 20;

interface Shared<Answer> {
  answer: Promise<Answer>;
  /** Infinity until it has come */
  untilMs: number;
}

/** Answers a question once for all who ask it within a short time, as open consoles do. */
export class SharedAnswers<Answer> {
  readonly #answers = new Map<string, Shared<Answer>>();

  /** @param now ms of a clock that does not step back */
  constructor(
    private readonly keepMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Call it after a change of what is asked for: who asks then must see it. */
  clear(): void {
    this.#answers.clear();
  }

  /** @returns an answer that comes, or came at most `keepMs` ago; a failed one is not kept */
  get(question: string, ask: () => Promise<Answer>): Promise<Answer> {
    const known = this.#answers.get(question);
    if (known && this.now() < known.untilMs) return known.answer;
    const asked: Shared<Answer> = { answer: ask(), untilMs: Infinity };
    this.#answers.delete(question);
    this.#answers.set(question, asked);
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > MOST_ANSWERS && oldest !== undefined) this.#answers.delete(oldest);
    asked.answer.then(
      () => (asked.untilMs = this.now() + this.keepMs),
      () => {
        if (this.#answers.get(question) === asked) this.#answers.delete(question);
      },
    );
    return asked.answer;
  }
}
