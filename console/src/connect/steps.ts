/** The steps that connect an integration, and how each stands. Pure. */

export const STEPS = ['source', 'endpoint', 'test', 'live'] as const;
export type Step = (typeof STEPS)[number];

/** How the last test ended; undefined: there was none, or the endpoint has changed since. */
export type Tested = 'passed' | 'failed' | undefined;

/** `open`: still to do, or left out */
type Mark = 'done' | 'failed' | 'open';

interface ConnectProgress {
  /** undefined: nothing is stored yet */
  id: string | undefined;
  at: Step;
  tested: Tested;
  /** the destination is enabled */
  isLive: boolean;
}

/** A test that failed is never done, whatever came after it. */
export function markOf(step: Step, { id, at, tested, isLive }: ConnectProgress): Mark {
  switch (step) {
    case 'source':
      return id !== undefined || at !== 'source' ? 'done' : 'open';
    case 'endpoint':
      return id !== undefined ? 'done' : 'open';
    case 'test':
      if (tested === 'failed') return 'failed';
      return tested === 'passed' ? 'done' : 'open';
    case 'live':
      return isLive ? 'done' : 'open';
  }
}

/** Returns the address of a step; undefined for one that cannot be visited yet. */
export function addressOf(
  step: Step,
  { id, tested }: Pick<ConnectProgress, 'id' | 'tested'>,
): string | undefined {
  if (id === undefined) return step === 'source' ? '/connect' : undefined;
  return `/connect/${id}/${step}${tested === undefined ? '' : `?test=${tested}`}`;
}

export function testedOf(text: string | null): Tested {
  return text === 'passed' || text === 'failed' ? text : undefined;
}
