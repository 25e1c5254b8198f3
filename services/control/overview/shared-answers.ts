/** Questions whose answers are kept at the same time. */
const MOST_ANSWERS = 20;

/** Answers a question once for all who ask it within a short time, as open consoles do. */
export class SharedAnswers<Answer> {
  readonly #answers = new Map<string, { answer: Promise<Answer>; untilMs: number }>();

  /** @param now ms of a clock that does not step back */
  constructor(
    private readonly keepMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** @returns an answer that was asked for at most `keepMs` ago; a failed one is not kept */
  get(question: string, ask: () => Promise<Answer>): Promise<Answer> {
    const known = this.#answers.get(question);
    if (known && this.now() < known.untilMs) return known.answer;
    const answer = ask();
    this.#answers.delete(question);
    this.#answers.set(question, { answer, untilMs: this.now() + this.keepMs });
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > MOST_ANSWERS && oldest !== undefined) this.#answers.delete(oldest);
    answer.catch(() => this.#answers.delete(question));
    return answer;
  }
}
