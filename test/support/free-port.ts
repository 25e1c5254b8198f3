import { freePorts as freePortsOf } from '../../deploy/standalone/ports';

/** Ports for tests. They are below the range of outgoing connections, so that none is taken by a passing one. */

/** Ports that this test file was given already: a service that is down for a moment comes back to its own. */
const given = new Set<number>();

/** A port of loopback where nothing listens now. */
export async function freePort(): Promise<number> {
  return (await freePorts(1))[0]!;
}

/**
 * Finds that many different ports. No other worker of jest is given one of them, though nothing listens there yet: of all
 * numbers a worker takes those with one remainder.
 */
export async function freePorts(count: number): Promise<number[]> {
  const found: number[] = [];
  while (found.length < count) {
    const [port = 0] = await freePortsOf(1);
    if (port % WORKERS !== worker() || given.has(port)) continue;
    given.add(port);
    found.push(port);
  }
  return found;
}

/** More than jest runs at once here. */
const WORKERS = 8;

/** Outside jest, one of those that jest does not use. */
function worker(): number {
  return Number(process.env.JEST_WORKER_ID ?? WORKERS - 1) % WORKERS;
}
