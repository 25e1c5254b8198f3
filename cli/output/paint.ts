/** Colours for a terminal. */

export type Paint = (text: string) => string;

const escape =
  (code: number): Paint =>
  (text) =>
    `\u001b[${String(code)}m${text}\u001b[39m`;

export const plain: Paint = (text) => text;
export const good = escape(32);
export const bad = escape(31);
export const doubtful = escape(33);

/** Follows https://no-color.org: any non-empty value disables colours. */
export function wantsColour(env: Record<string, string | undefined>, terminal: boolean): boolean {
  return terminal && !env.NO_COLOR && env.TERM !== 'dumb';
}

const PAINTS: Record<string, Paint> = {
  delivered: good,
  done: good,
  ok: good,
  accepted: good,
  recovered: good,
  dead: bad,
  failing: bad,
  dead_letters: bad,
  switched_off: bad,
  webhook_disabled: bad,
  failed: bad,
  fail: bad,
  rejected: bad,
  retrying: doubtful,
  held: doubtful,
  certificate_expiring: doubtful,
  filter_costly: doubtful,
  profile_full: doubtful,
  partly_delivered: doubtful,
  waiting: doubtful,
  warn: doubtful,
};

/** Returns the colour of a state. */
export function paintOf(state: string): Paint {
  return PAINTS[state] ?? plain;
}
