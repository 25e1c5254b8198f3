import { Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { isIP, SocketAddress } from 'node:net';
import { sleep } from '../../../shared/runtime/async';

/**
 * Resolves names without libuv's four threads (`dns.lookup` shares them with zlib and fs, so that
 * four names whose server never answers would block them all). Each name has one query at a time,
 * is cached for its TTL, and fails after the resolver's own timeout. Lanes bound the number of
 * waiting requests.
 *
 * The users of kept connections ask for the latest answer (`latest`). A query that fails does not
 * change it: while no name server answers, kept connections stay in use.
 */

const MIN_TTL_MS = 5_000;
const MAX_TTL_MS = 60_000;
/** A failure is cached briefly, so that a burst of deliveries causes one query. */
const FAILURE_TTL_MS = 1_000;
/** For this long after its TTL an answer still holds, while the next query runs. */
const GRACE_MS = 2_000;
/** Longest wait for a query of a request that has a kept connection. */
const PATIENCE_MS = 1_000;
const MAX_NAMES = 10_000;
const HOSTS_FILE = '/etc/hosts';
const HOSTS_TTL_MS = 10_000;

/** The name could not be resolved. `code` is the resolver's: ENOTFOUND, ESERVFAIL, ETIMEOUT … */
export class DnsError extends Error {
  constructor(
    readonly code: string,
    hostname: string,
  ) {
    super(`${hostname} could not be resolved (${code})`);
    this.name = 'DnsError';
  }
}

/** The addresses of a name, written as sockets write them. Each query gives an array of its own. */
export type Addresses = readonly string[];

const LOOPBACK: Addresses = ['127.0.0.1', '::1'];
const NO_ADDRESSES: Addresses = [];
/** The name server has answered: the name has no address. */
const WITHOUT_ADDRESS: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA']);

/** Returns the form of a name in which it is looked up. */
export function lookupName(hostname: string): string {
  return hostname.toLowerCase().replace(/\.$/, '');
}

/**
 * RFC 6761: localhost is the loopback interface, even if a resolver says otherwise.
 * @param name as `lookupName` returns it
 */
export function isLocalhost(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost');
}

interface KnownName {
  /** of the last query; cached until `until`, by `performance.now()` */
  result: Promise<Addresses>;
  until: number;
  /** the last answer, which may be older than the last query; undefined: none yet */
  answer: Addresses | undefined;
  /** end of the answer's TTL, by `performance.now()` */
  answerEndsAt: number;
  /** the last query that ended gave no answer */
  failed: boolean;
  /** when a request with a kept connection has waited enough; undefined: it need not wait */
  waited: Promise<void> | undefined;
}

export class NameResolver {
  readonly #names = new Map<string, KnownName>();
  readonly #resolver: Resolver;
  #hosts = new Map<string, Addresses>();
  #hostsReadAt = -Infinity;

  /**
   * @param timeoutMs for one name, all tries together
   * @param servers to ask instead of the system's, if any
   */
  constructor(timeoutMs: number, servers: readonly string[] = []) {
    this.#resolver = new Resolver({ timeout: Math.max(100, Math.floor(timeoutMs / 3)), tries: 2 });
    if (servers.length > 0) this.#resolver.setServers(servers);
  }

  /** Returns the addresses of a name, IPv4 first. @throws DnsError */
  resolve(hostname: string): Promise<Addresses> {
    const name = lookupName(hostname);
    if (isIP(name)) return Promise.resolve([name]);
    if (isLocalhost(name)) return Promise.resolve(LOOPBACK);
    const now = performance.now();
    const host = this.#hostsFile(now).get(name);
    return host ? Promise.resolve(host) : this.#asked(name, now).result;
  }

  /**
   * Returns the latest answer for a name, without a promise as long as the answer is fresh. Asks
   * again if its TTL is over.
   * @param name as `lookupName` returns it; neither an address nor localhost
   * @returns undefined if nothing is known; a promise if the answer may be long out of date: ask
   *   here again after it
   */
  latest(name: string): Addresses | undefined | Promise<void> {
    const now = performance.now();
    const host = this.#hostsFile(now).get(name);
    if (host) return host;
    const { answer, answerEndsAt, waited } = this.#asked(name, now);
    return now < answerEndsAt + GRACE_MS ? answer : (waited ?? answer);
  }

  /** Returns what is known of a name, after a query has begun if the last result is too old. */
  #asked(name: string, now: number): KnownName {
    let known = this.#names.get(name);
    if (known && now < known.until) return known;
    known ??= {
      result: NOT_ASKED,
      until: -Infinity,
      answer: undefined,
      answerEndsAt: -Infinity,
      failed: false,
      waited: undefined,
    };
    this.#remember(name, known);
    this.#ask(name, known);
    return known;
  }

  #ask(name: string, known: KnownName): void {
    const end = (ttlMs: number, answer: Addresses | undefined) => {
      known.until = performance.now() + ttlMs;
      known.failed = answer === undefined;
      if (answer === undefined) return;
      known.answer = answer;
      known.answerEndsAt = known.until;
    };
    known.until = Infinity;
    known.result = this.#records(name).then(
      (found) => {
        const answer = found.map((record) => record.address);
        end(ttlOf(found), answer);
        return answer;
      },
      (error: unknown) => {
        const { code = 'ENOTFOUND' } = error as NodeJS.ErrnoException;
        end(FAILURE_TTL_MS, WITHOUT_ADDRESS.has(code) ? NO_ADDRESSES : undefined);
        throw new DnsError(code, name);
      },
    );
    const ended = known.result.then(
      () => undefined,
      () => undefined,
    );
    if (known.failed) return;
    const waited = Promise.race([ended, sleep(PATIENCE_MS, { ref: false })]).then(() => {
      known.waited = undefined;
    });
    known.waited = waited;
  }

  async #records(name: string): Promise<{ address: string; ttl: number }[]> {
    try {
      return await this.#resolver.resolve4(name, { ttl: true });
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code !== 'ENODATA' && code !== 'ENOTFOUND') throw error;
      return await this.#resolver.resolve6(name, { ttl: true });
    }
  }

  #remember(name: string, known: KnownName): void {
    this.#names.delete(name);
    this.#names.set(name, known);
    const oldest = this.#names.keys().next();
    if (this.#names.size > MAX_NAMES && !oldest.done) this.#names.delete(oldest.value);
  }

  /** Reads the hosts file, which c-ares ignores and operators expect to apply. */
  #hostsFile(now: number): Map<string, Addresses> {
    if (now - this.#hostsReadAt < HOSTS_TTL_MS) return this.#hosts;
    this.#hostsReadAt = now;
    try {
      this.#hosts = parseHosts(readFileSync(HOSTS_FILE, 'utf8'));
    } catch {
      // Not every system has one: names then come from the resolver alone.
      this.#hosts = new Map();
    }
    return this.#hosts;
  }
}

/** Replaced by the first query before anybody sees it. */
const NOT_ASKED: Promise<Addresses> = Promise.resolve(NO_ADDRESSES);

function ttlOf(found: readonly { ttl: number }[]): number {
  const shortest = 1_000 * Math.min(...found.map(({ ttl }) => ttl));
  return Math.min(MAX_TTL_MS, Math.max(MIN_TTL_MS, shortest));
}

/** Returns the names of a hosts file with their addresses, in the order of the file. */
function parseHosts(text: string): Map<string, Addresses> {
  const hosts = new Map<string, Addresses>();
  for (const line of text.split('\n')) {
    const [address, ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (!address || !isIP(address)) continue;
    for (const name of names) {
      const known = hosts.get(name.toLowerCase()) ?? [];
      hosts.set(name.toLowerCase(), [...known, asSocketsWrite(address)]);
    }
  }
  return hosts;
}

function asSocketsWrite(address: string): string {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  // A zone, as in `fe80::1%eth0`, is no part of the address that a socket names.
  return new SocketAddress({ address: address.replace(/%.*/, ''), family }).address;
}
