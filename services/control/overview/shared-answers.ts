/** Questions whose answers are kept at the same time. */
const MOST_ANSWERS = 20;

interface Shared<Answer> {
  answer: Promise<Answer>;
  untilMs: number;
}

/**
 * Answers a question once for all who ask it within a short time, as open consoles do. In the
 * second half of this time who asks gets the answer that is known, and the next one is made: of
 * many who ask, few wait.
 */
export class SharedAnswers<Answer> {
  readonly #answers = new Map<string, Shared<Answer>>();
  /** answers that have not come yet */
  readonly #coming = new Map<string, Promise<Answer>>();

  /** @param now ms of a clock that does not step back */
  constructor(
    private readonly keepMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Call it after a change of what is asked for: who asks then must see it. */
  clear(): void {
    this.#answers.clear();
    this.#coming.clear();
  }

  /** @returns an answer that comes, or came less than `keepMs` ago; a failed one is not kept */
  get(question: string, ask: () => Promise<Answer>): Promise<Answer> {
    const known = this.#answers.get(question);
    const leftMs = known ? known.untilMs - this.now() : 0;
    if (known && leftMs > this.keepMs / 2) return known.answer;
    const coming = this.#coming.get(question) ?? this.#ask(question, ask);
    return known && leftMs > 0 ? known.answer : coming;
  }

  #ask(question: string, ask: () => Promise<Answer>): Promise<Answer> {
    const answer = ask();
    this.#coming.set(question, answer);
    const end = (hasCome: boolean) => {
      // Before the last change, it says nothing of what is asked now.
      if (this.#coming.get(question) !== answer) return;
      this.#coming.delete(question);
      if (hasCome) this.#keep(question, answer);
    };
    answer.then(
      () => end(true),
      () => end(false),
    );
    return answer;
  }

  #keep(question: string, answer: Promise<Answer>): void {
    this.#answers.delete(question);
    this.#answers.set(question, { answer, untilMs: this.now() + this.keepMs });
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > MOST_ANSWERS && oldest !== undefined) this.#answers.delete(oldest);
  }
}
