/** The address or the port may not be reached. */
export class ForbiddenAddressError extends Error {
  constructor(hostname: string, reason: string) {
    super(`${hostname} is in a forbidden network (${reason})`);
    this.name = 'ForbiddenAddressError';
  }
}

/** The port is not among WAYPOST_ALLOWED_PORTS. */
export class ForbiddenPortError extends ForbiddenAddressError {
  constructor(hostname: string, port: number) {
    super(hostname, '');
    this.message = `${hostname} has the forbidden port ${String(port)}`;
  }
}
