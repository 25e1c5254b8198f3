import { freePorts } from '../../deploy/standalone/ports';

/** Ports for tests. They are below the range of outgoing connections, so that none is taken by a passing one. */

/** A port of loopback where nobody listens now. */
export async function freePort(): Promise<number> {
  return (await freePorts(1))[0]!;
}

/** As many different ones. */
export { freePorts };
