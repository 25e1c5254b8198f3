import { type ProcessContext } from '../process-context';

/** Reads single keys from a terminal, and writes to its clipboard. */

/**
 * Calls `onKey` for each key until `stop`. The terminal then works line by line again.
 * @returns false if standard input is not a terminal
 */
export function readKeys(
  stdin: ProcessContext['stdin'],
  onKey: (key: string) => void,
  stop: AbortSignal,
): boolean {
  if (!stdin.isTTY || !stdin.setRawMode || stop.aborted) return false;
  const read = (chunk: Buffer | string) => onKey(chunk.toString());
  stdin.setRawMode(true);
  stdin.on('data', read);
  const end = () => {
    stdin.off('data', read);
    stdin.setRawMode?.(false);
    stdin.pause();
  };
  stop.addEventListener('abort', end, { once: true });
  return true;
}

/** The sequence OSC 52, which many terminals obey, also through SSH. Others ignore it. */
export function clipboard(text: string): string {
  return `\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`;
}
