import { freePorts as freePortsOf, type PortRange } from '../../dev/ports';

/**
 * Ports for tests. They are below the range of outgoing connections, and below the one from which
 * Waypost itself chooses a port (dev/ports.ts), so that nothing takes one by chance before its
 * service listens there.
 */
const RANGE: PortRange = { lowest: 10_000, highest: 20_000 };

/**
 * Ports that this test file uses already: a service that is down for a moment comes back on its
 * port.
 */
const given = new Set<number>();

/** Returns a free port of loopback. */
export async function freePort(): Promise<number> {
  return (await freePorts(1))[0]!;
}

/**
 * Returns `count` different ports. Each worker of jest takes the numbers with one remainder, so
 * that no other worker takes a port before its service listens there.
 */
export async function freePorts(count: number): Promise<number[]> {
  const found: number[] = [];
  while (found.length < count) {
    const [port = 0] = await freePortsOf(1, '127.0.0.1', RANGE);
    if (port % WORKERS !== worker() || given.has(port)) continue;
    given.add(port);
    found.push(port);
  }
  return found;
}

/** More workers than jest starts here. */
const WORKERS = 8;

/** Returns the number of this worker; outside jest, a number that no worker has. */
function worker(): number {
  return Number(process.env.JEST_WORKER_ID ?? WORKERS - 1) % WORKERS;
}
