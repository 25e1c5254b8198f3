/**
 * The latest TLS session of each server, so that a new connection continues it:
 * that saves both sides the signatures of a full handshake. Node offers a session for storage only
 * after the certificate was verified, and does not verify it again for a connection that continues
 * the session. So a session ends with the certificate.
 */

/** A session takes 2 KB; beyond this number the least recently used one goes first. */
const MOST = 10_000;

interface KeptSession {
  session: Buffer;
  /** end of the certificate that it began with, ms since 1970 */
  notAfter: number;
}

export class TlsSessions {
  readonly #byServer = new Map<string, KeptSession>();

  constructor(
    private readonly most = MOST,
    private readonly now: () => number = () => Date.now(),
  ) {}

  get(server: string): Buffer | undefined {
    const kept = this.#byServer.get(server);
    if (!kept) return undefined;
    this.#byServer.delete(server);
    if (kept.notAfter < this.now()) return undefined;
    this.#byServer.set(server, kept);
    return kept.session;
  }

  set(server: string, session: Buffer, notAfter: number): void {
    this.#byServer.delete(server);
    this.#byServer.set(server, { session, notAfter });
    const oldest = this.#byServer.keys().next();
    if (this.#byServer.size > this.most && !oldest.done) this.#byServer.delete(oldest.value);
  }

  delete(server: string): void {
    this.#byServer.delete(server);
  }
}
