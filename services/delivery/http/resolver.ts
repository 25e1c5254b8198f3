import { Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';

/**
 * Resolves names without libuv's four threads (`dns.lookup` shares them with zlib and fs, so that
 * four names whose server never answers would block them all). Each name has one query at a time,
 * is cached for its TTL, and fails after the resolver's own timeout. Lanes bound the number of
 * waiting requests.
 */

const MIN_TTL_MS = 5_000;
const MAX_TTL_MS = 60_000;
/** A failure is cached briefly, so that a burst of deliveries causes one query. */
const FAILURE_TTL_MS = 1_000;
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

interface CachedAnswer {
  /** by `performance.now()` */
  until: number;
  answer: Promise<string[]>;
}

export class NameResolver {
  readonly #answers = new Map<string, CachedAnswer>();
  readonly #resolver: Resolver;
  #hosts = new Map<string, string[]>();
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
  resolve(hostname: string): Promise<string[]> {
    const name = hostname.toLowerCase().replace(/\.$/, '');
    if (isIP(name)) return Promise.resolve([name]);
    // RFC 6761: localhost is the loopback interface, even if a resolver says otherwise.
    if (name === 'localhost' || name.endsWith('.localhost')) {
      return Promise.resolve(['127.0.0.1', '::1']);
    }
    const host = this.#hostsFile().get(name);
    if (host) return Promise.resolve(host);

    const now = performance.now();
    const known = this.#answers.get(name);
    if (known && known.until > now) return known.answer;
    const entry: CachedAnswer = { until: Infinity, answer: this.#ask(name) };
    this.#remember(name, entry);
    return entry.answer;
  }

  async #ask(name: string): Promise<string[]> {
    let ttlMs = FAILURE_TTL_MS;
    try {
      const found = await this.#records(name);
      ttlMs = Math.min(
        MAX_TTL_MS,
        Math.max(MIN_TTL_MS, 1000 * Math.min(...found.map((record) => record.ttl))),
      );
      return found.map((record) => record.address);
    } catch (error) {
      throw new DnsError((error as NodeJS.ErrnoException).code ?? 'ENOTFOUND', name);
    } finally {
      const entry = this.#answers.get(name);
      if (entry) entry.until = performance.now() + ttlMs;
    }
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

  #remember(name: string, entry: CachedAnswer): void {
    this.#answers.delete(name);
    this.#answers.set(name, entry);
    const oldest = this.#answers.keys().next();
    if (this.#answers.size > MAX_NAMES && !oldest.done) this.#answers.delete(oldest.value);
  }

  /** Reads the hosts file, which c-ares ignores and operators expect to apply. */
  #hostsFile(): Map<string, string[]> {
    const now = performance.now();
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

/** Returns the names of a hosts file with their addresses, in the order of the file. */
function parseHosts(text: string): Map<string, string[]> {
  const hosts = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address, ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (!address || !isIP(address)) continue;
    for (const name of names) {
      hosts.set(name.toLowerCase(), [...(hosts.get(name.toLowerCase()) ?? []), address]);
    }
  }
  return hosts;
}
