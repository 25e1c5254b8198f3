import { type AuthenticationProviderArgs, type Mechanism } from 'kafkajs';
import { AppError, messageOf } from '../../../runtime/errors';

/**
 * Authenticates with a bearer token (SASL OAUTHBEARER, RFC 7628), and reuses the token while it is
 * fresh.
 */

export interface Token {
  value: string;
  /** ms since 1970 */
  expiresAt: number;
}

/**
 * A token is replaced when less than this part of its lifetime is left, as in Kafka's Java client.
 */
const LAST_PART = 0.2;
/**
 * kafkajs authenticates again 10 s before the session of a connection ends, and a session ends with
 * its token. A token handed out with less time would be used for one request at most.
 */
const LEAST_MS = 30_000;
/**
 * A refused token is not requested again earlier: a mistake in the settings would load the token
 * endpoint.
 */
const REFUSED_AFTER_MS = 60_000;

/** Returns when a token is to be replaced: early, but not before half of its lifetime. */
export function refreshTime(receivedAt: number, expiresAt: number): number {
  const lifetime = Math.max(0, expiresAt - receivedAt);
  return expiresAt - Math.min(Math.max(LAST_PART * lifetime, LEAST_MS), lifetime / 2);
}

/** Holds one token for all connections. Concurrent callers share a request. */
export class TokenCache {
  #token: (Token & { receivedAt: number }) | undefined;
  #request: Promise<string> | undefined;

  constructor(
    private readonly ask: () => Promise<Token>,
    private readonly now: () => number = Date.now,
  ) {}

  /**
   * Returns a token that is valid now. If a request fails, the last token serves until it expires.
   * @throws the error of the request
   */
  async get(): Promise<string> {
    const token = this.#token;
    if (token && this.now() < refreshTime(token.receivedAt, token.expiresAt)) return token.value;
    try {
      return await (this.#request ??= this.#renew().finally(() => (this.#request = undefined)));
    } catch (error) {
      if (token && this.now() < token.expiresAt) return token.value;
      throw error;
    }
  }

  async #renew(): Promise<string> {
    const receivedAt = this.now();
    this.#token = { ...(await this.ask()), receivedAt };
    return this.#token.value;
  }

  /** Drops a token that the broker refused: its issuer may have changed its keys. */
  refused(value: string): void {
    const token = this.#token;
    if (token?.value === value && this.now() - token.receivedAt > REFUSED_AFTER_MS) {
      this.#token = undefined;
    }
  }
}

/** Separates the parts of a message. */
const SOH = '\u0001';

/**
 * Returns the mechanism for kafkajs, whose own ignores the answer in which a broker refuses a token
 * (kafkajs 2.2.4).
 * @param extensions sent beside the token
 */
export function bearerMechanism(
  tokens: TokenCache,
  extensions: Record<string, string> = {},
): Mechanism {
  const authenticationProvider = ({
    host,
    port,
    logger,
    saslAuthenticate,
  }: AuthenticationProviderArgs) => ({
    authenticate: async () => {
      const say = async (text: string) =>
        saslAuthenticate({ request: { encode: () => sized(text) }, response: TEXT });
      try {
        const token = await tokens.get();
        const more = Object.entries({ auth: `Bearer ${token}`, ...extensions }).map(
          ([key, value]) => `${key}=${value}`,
        );
        const complaint = await say(`n,,${SOH}${more.join(SOH)}${SOH}${SOH}`);
        if (!complaint) return;
        tokens.refused(token);
        // The broker then fails the exchange, with its reason in words.
        await say(SOH).catch((error: unknown) => refuse(messageOf(error)));
        refuse(complaint);
      } catch (error) {
        logger.error(messageOf(error), { broker: `${host}:${port}` });
        throw error;
      }
    },
  });
  return { mechanism: 'oauthbearer', authenticationProvider };
}

function refuse(reason: string): never {
  throw new AppError('kafka_refused', `Kafka refuses the token: ${reason}`);
}

/** kafkajs sends and returns bytes with their length before them. */
function sized(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(4);
  length.writeInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

const TEXT = {
  decode: (raw: Buffer) => raw.subarray(4),
  parse: (bytes: Buffer) => bytes.toString('utf8'),
};
