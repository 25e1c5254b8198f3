import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { type SessionKey } from './store';

/**
 * Keys that sign sessions. Each combines two secrets, so that neither alone opens the control API: a random key that
 * only control's database holds, and WAYPOST_SECRET_KEY, which delivery holds too.
 *
 * Until control has reached its database once, the admin token replaces the random key: all control processes know it,
 * and its holder may do everything anyway.
 */

const PERIOD_MS = 30 * 86_400_000;
/** All control processes read a new key within seconds. If it signed earlier, some would refuse its sessions. */
const SIGNS_AFTER_MS = 60_000;

export class SessionKeys {
  #ring: SessionKey[] = [];
  /** signing keys of each key of the ring, the newest first, one for each secret key */
  #derived: { madeAt: number; keys: Buffer[] }[] = [];
  readonly #fallback: Buffer[];

  constructor(
    private readonly secretKeys: readonly Buffer[],
    adminToken: string,
  ) {
    this.#fallback = secretKeys.map((salt) => derive(adminToken, salt, 'waypost session without a database'));
  }

  /** Creates a key for the current period, for a database without one. */
  static make(nowMs: number): SessionKey {
    return { period: Math.floor(nowMs / PERIOD_MS), madeAt: nowMs, key: randomBytes(32).toString('base64') };
  }

  /** Uses the keys of the database, the newest first. */
  use(ring: SessionKey[]): void {
    if (ring.length === this.#ring.length && ring.every(({ key }, i) => key === this.#ring[i]?.key)) return;
    this.#ring = ring;
    this.#derived = ring.map(({ madeAt, key }) => ({
      madeAt,
      keys: this.secretKeys.map((salt) => derive(Buffer.from(key, 'base64'), salt, 'waypost session')),
    }));
  }

  sign(text: string, nowMs: number): string {
    const known = this.#derived.find(({ madeAt }) => madeAt <= nowMs - SIGNS_AFTER_MS) ?? this.#derived.at(-1);
    const [first = Buffer.alloc(0)] = known?.keys ?? this.#fallback;
    return hmac(first, text).toString('base64url');
  }

  verify(text: string, signature: string): boolean {
    const given = Buffer.from(signature, 'base64url');
    const keys = [...this.#derived.flatMap((each) => each.keys), ...this.#fallback];
    return keys.some((key) => {
      const wanted = hmac(key, text);
      return wanted.length === given.length && timingSafeEqual(wanted, given);
    });
  }
}

function derive(secret: string | Buffer, salt: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, salt, purpose, 32));
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
