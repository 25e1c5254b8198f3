/**
 * The latest TLS session of each server (host and port), so that a new connection continues it:
 * that saves both sides the signatures of a full handshake. Node offers a session for storage only
 * after the certificate was verified, and does not verify it again for a connection that continues
 * the session.
 */

/** A session takes 2 KB; beyond this number the least recently used one goes first. */
const MOST = 10_000;

export class TlsSessions {
  readonly #byServer = new Map<string, Buffer>();

  constructor(private readonly most = MOST) {}

  get(server: string): Buffer | undefined {
    const session = this.#byServer.get(server);
    if (session) this.set(server, session);
    return session;
  }

  set(server: string, session: Buffer): void {
    this.#byServer.delete(server);
    this.#byServer.set(server, session);
    const oldest = this.#byServer.keys().next();
    if (this.#byServer.size > this.most && !oldest.done) this.#byServer.delete(oldest.value);
  }

  delete(server: string): void {
    this.#byServer.delete(server);
  }
}
