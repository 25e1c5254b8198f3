import { fixedAddress } from './peers';

/** The address or the port may not be reached. */
export class ForbiddenAddressError extends Error {
  constructor(hostname: string, reason: string) {
    super(`${hostname} is in a forbidden network (${reason})`);
    this.name = 'ForbiddenAddressError';
  }
}

/**
 * A name has an address that may not be reached, alone or beside others. That may change: a name
 * server may give a wrong answer for a while. The message does not name the address: customers read
 * it, and the name may be one of the operator's network.
 */
export class ForbiddenAnswerError extends ForbiddenAddressError {}

/** The port is not among WAYPOST_ALLOWED_PORTS. */
export class ForbiddenPortError extends ForbiddenAddressError {
  constructor(hostname: string, port: number) {
    super(hostname, '');
    this.message = `${hostname} has the forbidden port ${String(port)}`;
  }
}

/**
 * Returns the error of a host that has a forbidden address.
 * @param what the host, as the message calls it
 */
export function forbiddenAt(hostname: string, reason: string, what = hostname): Error {
  return fixedAddress(hostname) === undefined
    ? new ForbiddenAnswerError(what, reason)
    : new ForbiddenAddressError(what, reason);
}
