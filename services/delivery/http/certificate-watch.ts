import { type TLSSocket } from 'node:tls';

/**
 * Reports when the certificates of servers end, for alerts: once an hour if the end is near, or if
 * the certificate is new and may be a replacement. It reads full handshakes, since a resumed
 * session has the certificate that it began with.
 */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const ENDS_SOON_MS = 30 * DAY_MS;
const IS_NEW_MS = 30 * DAY_MS;
/** Servers whose last check is remembered; the others are checked again. */
const MOST_SERVERS = 10_000;

export interface SeenCertificate {
  origin: string;
  /** ms since 1970 */
  notAfter: number;
}

interface LastCheck {
  at: number;
  notAfter: number;
}

export class CertificateWatch {
  readonly #lastChecks = new Map<string, LastCheck>();

  constructor(
    private readonly report: (certificate: SeenCertificate) => void,
    private readonly now: () => number = Date.now,
  ) {}

  /** @param origin of the URL */
  handshake(origin: string, socket: Pick<TLSSocket, 'getPeerX509Certificate'>): void {
    const nowMs = this.now();
    const last = this.#lastChecks.get(origin);
    const isRecent = last !== undefined && nowMs - last.at < HOUR_MS;
    // Reports the replacement of a certificate that ends soon without delay.
    if (isRecent && !endsSoon(last.notAfter, nowMs)) return;
    const certificate = socket.getPeerX509Certificate();
    if (!certificate) return;
    const notBefore = Date.parse(certificate.validFrom);
    const notAfter = Date.parse(certificate.validTo);
    if (Number.isNaN(notAfter) || (isRecent && last.notAfter === notAfter)) return;
    if (this.#lastChecks.size >= MOST_SERVERS) this.#lastChecks.clear();
    this.#lastChecks.set(origin, { at: nowMs, notAfter });
    if (endsSoon(notAfter, nowMs) || nowMs - notBefore < IS_NEW_MS) {
      this.report({ origin, notAfter });
    }
  }
}

function endsSoon(notAfter: number, nowMs: number): boolean {
  return notAfter - nowMs < ENDS_SOON_MS;
}
