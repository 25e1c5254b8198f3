/**
 * Stores when the session ends, because scripts cannot read the cookie. The time is not secret.
 * With it the page knows, without a refused request, that it must ask for the token.
 */

const KEY = 'waypost.session.until';

export function rememberUntil(iso: string | null): void {
  try {
    if (iso === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, iso);
  } catch {
    // Storage is disabled: the page then asks at each load.
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
