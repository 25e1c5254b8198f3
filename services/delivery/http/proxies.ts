import { hash } from 'node:crypto';
import { type Encrypted, type StoredProxy } from '../../../shared/model/config';
import { NO_PROXY, type ProxyUrl, readProxyUrl } from '../../../shared/model/proxy-url';
import { type Log } from '../../../shared/telemetry/log';
import { ProxyGate } from './proxy-gate';
import { type Proxy } from './tunnel';

/**
 * The egress proxies of the process. Each has one gate, which the lanes of all endpoints behind it
 * share.
 */
export class Proxies {
  /** as long as a destination uses them: passwords and addresses change */
  readonly #known = new Map<string, WeakRef<Proxy>>();

  constructor(
    private readonly options: {
      /** WAYPOST_EGRESS_PROXY */
      usual: ProxyUrl | undefined;
      /** the clock of the lanes, ms */
      now: () => number;
      log: Log;
    },
  ) {}

  /** Returns the proxy of a destination; undefined if it is connected to directly. */
  of(
    stored: StoredProxy | undefined,
    open: (userInfo: Encrypted, address: string) => string,
  ): Proxy | undefined {
    if (!stored) return this.options.usual && this.#proxyOf(this.options.usual, true);
    if (stored.address === NO_PROXY) return undefined;
    const read = readProxyUrl(stored.address);
    // Control has validated it. Without a proxy nothing may be sent, so a damaged one must not lead
    // past it.
    if (typeof read === 'string') throw new Error(`the stored proxy ${stored.address} ${read}`);
    const { userInfo, address } = stored;
    return this.#proxyOf(
      userInfo === undefined ? read : { ...read, userInfo: open(userInfo, address) },
      false,
    );
  }

  #proxyOf(url: ProxyUrl, isTrusted: boolean): Proxy {
    const { address, userInfo = '' } = url;
    const key = hash('sha256', JSON.stringify([address, userInfo, isTrusted]), 'base64url');
    let proxy = this.#known.get(key)?.deref();
    if (!proxy) {
      const { now, log } = this.options;
      const gate = new ProxyGate(now, (isDown, reason) => {
        if (isDown) log.warn({ proxy: address, reason }, 'proxy.unavailable');
        else log.info({ proxy: address }, 'proxy.available');
      });
      this.#forgetUnused();
      proxy = { ...url, key, isTrusted, gate };
      this.#known.set(key, new WeakRef(proxy));
    }
    return proxy;
  }

  get size(): number {
    return this.#known.size;
  }

  #forgetUnused(): void {
    for (const [key, known] of this.#known) if (!known.deref()) this.#known.delete(key);
  }
}
