import { type Forward } from './choose-events';
import { type Answer } from './forward';

/**
 * The keys of a listener at a terminal. They act on the newest event, or on the event that the user
 * selected.
 */

export interface Answered {
  forward: Forward;
  answer: Answer;
}

export interface KeyActions {
  /** sends the event again */
  retry(chosen: Answered): void;
  /** shows the request and the response */
  inspect(chosen: Answered): void;
  /** copies the request as a curl command */
  copy(chosen: Answered): void;
  /** says which event is selected */
  selected(chosen: Answered): void;
  help(): void;
  stop(): void;
}

export const KEYS_HELP =
  'Keys: r send again, i inspect, c copy as curl, ↑ ↓ (or k j) choose an event, q stop. ' +
  'They act on the newest event until you choose.';

/** More than fit on a screen. */
const REMEMBERED = 200;

type Act = (keys: Keys) => void;

const [UP, DOWN, CTRL_C] = ['\u001b[A', '\u001b[B', '\u0003'];
const ACTS: Readonly<Record<string, Act>> = {
  r: (keys) => keys.act('retry'),
  i: (keys) => keys.act('inspect'),
  c: (keys) => keys.act('copy'),
  k: (keys) => keys.move(-1),
  j: (keys) => keys.move(1),
  [UP]: (keys) => keys.move(-1),
  [DOWN]: (keys) => keys.move(1),
  '?': (keys) => keys.actions.help(),
  h: (keys) => keys.actions.help(),
  q: (keys) => keys.actions.stop(),
  [CTRL_C]: (keys) => keys.actions.stop(),
};

export class Keys {
  readonly #answered: Answered[] = [];
  /** position of the selected event; undefined: the newest */
  #at: number | undefined;

  constructor(readonly actions: KeyActions) {}

  answered(forward: Forward, answer: Answer): void {
    this.#answered.push({ forward, answer });
    if (this.#answered.length <= REMEMBERED) return;
    this.#answered.shift();
    if (this.#at !== undefined) this.#at = Math.max(0, this.#at - 1);
  }

  /** @param text one key as a terminal in raw mode sends it, or several */
  press(text: string): void {
    if (Object.hasOwn(ACTS, text)) ACTS[text]?.(this);
    else if (text.length > 1 && !text.startsWith('\u001b')) for (const key of text) this.press(key);
  }

  act(name: 'retry' | 'inspect' | 'copy'): void {
    const chosen = this.#answered[this.#at ?? this.#answered.length - 1];
    if (chosen) this.actions[name](chosen);
  }

  move(by: number): void {
    const last = this.#answered.length - 1;
    const at = Math.max(0, Math.min(last, (this.#at ?? last) + by));
    // At the end, the selection follows the newest event again.
    this.#at = at === last ? undefined : at;
    const chosen = this.#answered[at];
    if (chosen) this.actions.selected(chosen);
  }
}
