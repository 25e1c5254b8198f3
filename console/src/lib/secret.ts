/** Creates secrets in the browser. */

const BYTES = 32;

/** Returns a new secret in the format of Standard Webhooks. */
export function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES));
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
}
