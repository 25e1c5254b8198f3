/**
 * Whether this browser has a session, as far as the page can know: the cookie itself is hidden from scripts. Until when it
 * holds is no secret; by it a page knows without a refused request that it must ask for the token.
 */

const KEY = 'waypost.session.until';

export function rememberUntil(iso: string | null): void {
  try {
    if (iso === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, iso);
  } catch {
    // Storage is switched off: the page then asks at each load.
  }
}

export function mayHaveSession(nowMs: number): boolean {
  try {
    const until = localStorage.getItem(KEY);
    return until !== null && Date.parse(until) > nowMs;
  } catch {
    return false;
  }
}
