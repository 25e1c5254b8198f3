/**
 * Reports the progress of a download: a line at its start, and one every few seconds while it is
 * slow.
 */

const STEP_MS = 3_000;

/** Receives texts for people: the slow steps of a start. */
export type Note = (text: string) => void;

/** Formats a number of bytes: "43 MB". */
export const megabytes = (bytes: number): string =>
  `${String(Math.max(1, Math.round(bytes / 1e6)))} MB`;

/**
 * Returns a function that receives the number of bytes that have arrived so far. A smaller number
 * is ignored: pip moves the finished download out of the folder that is measured.
 * @param now the time in ms
 */
export function createProgress(
  options: { what: string; bytes: number; note: Note },
  now = () => performance.now(),
): (arrived: number) => void {
  const { what, bytes, note } = options;
  let last = now();
  let most = 0;
  return (arrived) => {
    most = Math.max(most, arrived);
    if (now() - last < STEP_MS) return;
    last = now();
    note(`${what}: ${String(Math.floor(most / 1e6))} of ${megabytes(bytes)}`);
  };
}
