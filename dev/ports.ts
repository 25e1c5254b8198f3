import { createServer } from 'node:net';

/** Finds free ports below the range from which the system assigns ports. */

/**
 * Linux assigns ports from 32768 up to outgoing connections, macOS from 49152. In that range a
 * listener may find its port taken by a passing connection, and a client that connects to a closed
 * port may connect to itself.
 */
const RANGE: PortRange = { lowest: 20_000, highest: 32_000 };

/** Without `highest` itself. */
export interface PortRange {
  lowest: number;
  highest: number;
}

/** Returns whether a server could listen there now. */
export async function isFree(port: number, host: string): Promise<boolean> {
  return (await whyNotFree(port, host)) === undefined;
}

/** Returns why a server could not listen there (EADDRINUSE, EACCES …), or undefined if it could. */
export function whyNotFree(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}

/** Returns this many different free ports. Another process may still take one before it is used. */
export async function freePorts(
  count: number,
  host = '127.0.0.1',
  { lowest, highest } = RANGE,
): Promise<number[]> {
  const found = new Set<number>();
  for (let tries = 0; found.size < count; tries++) {
    if (tries > 1000) throw new Error(`No ${String(count)} free ports were found on ${host}.`);
    const port = lowest + Math.floor(Math.random() * (highest - lowest));
    if (await isFree(port, host)) found.add(port);
  }
  return [...found];
}
