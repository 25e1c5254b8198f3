import { type LookupFunction, type Socket } from 'node:net';
import { type X509Certificate } from 'node:crypto';
import { type SecureContext, TLSSocket } from 'node:tls';
import { buildConnector } from 'undici';
import { defined } from '../../../shared/collections/defined';
import { type AddressGuard, literalAddress } from '../../../shared/model/address-guard';
import { type Phase } from '../../../shared/model/phases';
import { distrustedIssuer } from '../../../shared/runtime/distrusted-roots';
import { type CertificateWatch } from './certificate-watch';
import { type ClientTls, endpointContext } from './client-tls';
import { DistrustedIssuerError } from './distrusted-issuer';
import { forbiddenAt, ForbiddenAddressError, ForbiddenPortError } from './forbidden-address';
import { NO_PEERS, type Peer, peersOf } from './peers';
import { type NameResolver } from './resolver';
import { type Opening } from './proxy-gate';
import { TlsFloods } from './tls-floods';
import { TlsSessions } from './tls-sessions';
import { openTunnel, type Proxy } from './tunnel';

/**
 * Opens sockets: resolves by our own resolver, refuses forbidden addresses at the moment of
 * connecting (a name may have a new address by then, and undici calls no `lookup` for a literal
 * address), verifies certificates, and reports the phase of the connection to its request.
 */

/**
 * A request that waits for a socket: it receives each phase, and the socket, so that it can destroy
 * it.
 */
export interface Waiting {
  phase: Phase;
  socket: Socket | undefined;
  /** its wait for the proxy */
  opening: Opening | undefined;
  /** Ends the request without a response. */
  fail(error: unknown): void;
}

/** Receives the socket, and the addresses that it leads to. */
type Connected = (
  ...result:
    | [error: null, socket: Socket, peers: readonly Peer[]]
    | [error: Error, socket: null, peers?: undefined]
) => void;

/**
 * undici's connector.
 * @param waiting the request that the socket is for
 * @param way the client certificate and the authorities, in place of Node's, and the proxy
 */
export type Connect = (
  target: buildConnector.Options,
  done: Connected,
  waiting: Waiting | undefined,
  way?: { readonly tls?: ClientTls; readonly proxy?: Proxy },
) => void;

export interface ConnectorOptions {
  timeoutMs: number;
  names: NameResolver;
  guard: AddressGuard;
  /** default: all ports are allowed */
  isPortAllowed?: (port: number) => boolean;
  /** the proxies resolve the names of endpoints */
  proxyResolves?: boolean;
  /** receives each TLS handshake: `resumed` if it continued an earlier session */
  onHandshake?: (resumed: boolean) => void;
  /** looks at the certificates of servers */
  certificates?: Pick<CertificateWatch, 'handshake'>;
}

export function createConnector(options: ConnectorOptions): Connect {
  const floods = new TlsFloods();
  const open = createOpener(options, floods);
  const openTunnelTo = createTunneler(options);
  return (target, done, waiting, way) => {
    const server: TlsServer = { key: serverKey(target, way), tls: way?.tls };
    const refusal = refusalOf(target, options) ?? floods.refusal(server.key);
    if (refusal) done(refusal, null);
    else if (!way?.proxy) open(target, done, waiting, server);
    else {
      openTunnelTo(target, way.proxy, waiting).then(
        ({ tunnel, peers }) => {
          if (target.protocol === 'https:') {
            open({ ...target, httpSocket: tunnel }, done, waiting, {
              ...server,
              tunnelPeers: peers,
            });
          } else done(null, tunnel, peers);
        },
        (error: unknown) => done(error as Error, null),
      );
    }
  };
}

/** Returns why this port or literal address may not be reached. */
function refusalOf(
  target: buildConnector.Options,
  { guard, isPortAllowed }: ConnectorOptions,
): Error | undefined {
  const port = portOf(target);
  if (isPortAllowed?.(port) === false) return new ForbiddenPortError(target.hostname, port);
  const literal = literalAddress(target.hostname);
  const reason = literal === undefined ? undefined : guard(literal);
  return reason === undefined ? undefined : new ForbiddenAddressError(target.hostname, reason);
}

/** The server of a connection, if that uses TLS. */
interface TlsServer {
  /** of `serverKey` */
  key: string;
  tls: ClientTls | undefined;
  /** the end of the tunnel through which it is reached; absent: it is reached directly */
  tunnelPeers?: readonly Peer[];
}

/**
 * Returns what tells servers apart: a session belongs to the certificates that it began with, and
 * behind another proxy the same name may be another server.
 */
function serverKey(
  target: buildConnector.Options,
  way: { readonly tls?: ClientTls; readonly proxy?: Proxy } = {},
): string {
  return `${target.hostname}:${portOf(target)} ${way.tls?.id ?? ''} ${way.proxy?.key ?? ''}`;
}

function portOf({ port, protocol }: buildConnector.Options): number {
  return Number(port) || (protocol === 'https:' ? 443 : 80);
}

/** Opens direct connections, and TLS through the tunnel of a proxy (`httpSocket`). */
function createOpener(
  { timeoutMs, names, guard, onHandshake, certificates }: ConnectorOptions,
  floods: TlsFloods,
) {
  const sessions = new TlsSessions();
  const shared = {
    timeout: timeoutMs,
    // Explicit, since NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment would otherwise disable it.
    rejectUnauthorized: true,
    // One for all connections: otherwise each makes its own.
    secureContext: endpointContext(),
    lookup: vettedLookup(names, guard),
    autoSelectFamily: true,
    // undici's own cache holds sessions weakly, and one for all ports of a host.
    maxCachedSessions: 0,
  };
  const connectAnew = buildConnector(shared);
  const secured = (socket: TLSSocket, target: buildConnector.Options) => {
    const resumed = socket.isSessionReused();
    onHandshake?.(resumed);
    if (!resumed) certificates?.handshake(originOf(target), socket);
  };

  return (
    target: buildConnector.Options,
    done: Connected,
    waiting: Waiting | undefined,
    { key, tls, tunnelPeers }: TlsServer,
  ): void => {
    const isSecure = target.protocol === 'https:';
    const isTunnel = target.httpSocket !== undefined;
    const session = isSecure ? sessions.get(key) : undefined;
    const { context: own, error: refusal } = tls ? contextOf(tls) : NODES_OWN;
    if (refusal) {
      target.httpSocket?.destroy();
      done(refusal, null);
      return;
    }
    const connect =
      session || own
        ? buildConnector({
            ...shared,
            ...defined({
              session,
              secureContext: own,
            }),
          })
        : connectAnew;
    let certificate: X509Certificate | undefined;
    // undici's type says void, but its connector returns the socket right away. Phases cannot be
    // reported without it.
    // eslint-disable-next-line @typescript-eslint/no-confusing-void-expression
    const socket = connect(target, (...[error, opened]) => {
      // The peer of a tunnel is the proxy.
      const peer = isTunnel ? undefined : opened?.remoteAddress;
      const forbidden = peer === undefined ? undefined : guard(peer);
      if (forbidden) {
        opened?.destroy();
        done(forbiddenAt(target.hostname, forbidden), null);
      } else if (error) {
        // The session may be the cause: the next connection does without.
        if (waiting?.phase === 'tls') sessions.delete(key);
        const issuer = certificate && distrustedIssuer(certificate);
        done(issuer === undefined ? error : new DistrustedIssuerError(issuer), null);
      } else {
        if (isSecure) secured(opened as TLSSocket, target);
        done(null, opened, tunnelPeers ?? peersOf(target.hostname, peer));
      }
    }) as unknown as Socket;
    if (isSecure) {
      floods.watch(socket, key);
      keepSessions(socket, (made, notAfter) => sessions.set(key, made, notAfter));
      beforeRefusal(socket, (peer) => (certificate = peer));
    }
    if (waiting && isTunnel) {
      waiting.socket = socket;
      waiting.phase = 'tls';
    } else if (waiting) {
      follow(socket, waiting, {
        named: literalAddress(target.hostname) === undefined,
        secure: isSecure,
      });
    }
  };
}

function keepSessions(socket: Socket, keep: (session: Buffer, notAfter: number) => void): void {
  let notAfter: number | undefined;
  socket.on('session', (made: Buffer) => {
    if (socket.destroyed) return;
    notAfter ??= endOfCertificate(socket);
    if (!Number.isNaN(notAfter)) keep(made, notAfter);
  });
}

/** Returns ms since 1970; NaN if it cannot be read. */
function endOfCertificate(socket: Socket): number {
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  return Date.parse(certificate?.validTo ?? '');
}

/** Errors of OpenSSL about a certificate that no authority vouches for. */
const UNTRUSTED = /^(UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)|SELF_SIGNED_CERT|DEPTH_ZERO_SELF)/;

/**
 * Hands out the certificate that Node is about to refuse. Node closes the socket with the error,
 * and the certificate is gone by the time that the error is heard. It cannot be read earlier:
 * reading it takes it out of the chain that Node verifies.
 */
function beforeRefusal(
  socket: Socket,
  see: (certificate: X509Certificate | undefined) => void,
): void {
  const destroy = socket.destroy.bind(socket);
  socket.destroy = (error) => {
    const { code = '' } = (error ?? {}) as NodeJS.ErrnoException;
    if (socket instanceof TLSSocket && UNTRUSTED.test(code)) see(socket.getPeerX509Certificate());
    return destroy(error);
  };
}

function createTunneler(options: ConnectorOptions) {
  const { names, guard, isPortAllowed, proxyResolves, timeoutMs } = options;
  const vetted = vettedLookup(names, guard);
  const trusted = vettedLookup(names, () => undefined);
  const guardProxy = (address: string, hostname: string) => {
    const reason = guard(address);
    return reason === undefined
      ? undefined
      : forbiddenAt(hostname, reason, `the proxy ${hostname}`);
  };
  return async (
    target: buildConnector.Options,
    proxy: Proxy,
    waiting: Waiting | undefined,
  ): Promise<{ tunnel: Socket; peers: readonly Peer[] }> => {
    const { hostname, port, isTrusted } = proxy;
    if (!isTrusted && isPortAllowed?.(port) === false) {
      throw new ForbiddenPortError(`the proxy ${hostname}`, port);
    }
    const opening = proxy.gate.begin(originOf(target));
    if (waiting) waiting.opening = opening;
    let host = literalAddress(target.hostname) ?? target.hostname;
    try {
      if (waiting) waiting.phase = 'dns';
      if (!proxyResolves) host = await addressOf(host, vetted);
    } catch (error) {
      proxy.gate.left(opening);
      throw error;
    }
    if (waiting) waiting.phase = 'proxy';
    const tunnel = await openTunnel({
      proxy,
      opening,
      target: { host, port: portOf(target) },
      timeoutMs,
      ...(isTrusted ? { lookup: trusted } : { lookup: vetted, guard: guardProxy }),
      onSocket: (socket) => {
        if (waiting) waiting.socket = socket;
      },
    });
    const ofTarget = proxyResolves ? NO_PEERS : peersOf(target.hostname, host);
    return { tunnel, peers: [...peersOf(hostname, tunnel.remoteAddress, isTrusted), ...ofTarget] };
  };
}

function originOf({ protocol, host, hostname }: buildConnector.Options): string {
  return `${protocol}//${host ?? hostname}`;
}

/** Returns the first address of a name. @throws ForbiddenAddressError, DnsError */
function addressOf(hostname: string, lookup: LookupFunction): Promise<string> {
  return new Promise((resolve, reject) => {
    lookup(hostname, { all: false }, (error, address) => {
      if (error) reject(error);
      else resolve(typeof address === 'string' ? address : '');
    });
  });
}

/** Returns the error of OpenSSL as a value: it concerns this URL alone. */
function contextOf(tls: ClientTls): { context?: SecureContext; error?: Error } {
  try {
    return { context: tls.context };
  } catch (error) {
    return { error: error as Error };
  }
}

const NODES_OWN: ReturnType<typeof contextOf> = {};

/**
 * Resolves by our own resolver. One forbidden address among several rejects the name: the others
 * may be a decoy.
 */
function vettedLookup(names: NameResolver, guard: AddressGuard): LookupFunction {
  return (hostname, { all }, done) => {
    names.resolve(hostname).then(
      (addresses) => {
        for (const address of addresses) {
          const reason = guard(address);
          if (reason) {
            done(forbiddenAt(hostname, reason), []);
            return;
          }
        }
        const found = addresses.map((address) => ({
          address,
          family: address.includes(':') ? 6 : 4,
        }));
        if (all) done(null, found);
        else done(null, found[0]?.address ?? '', found[0]?.family);
      },
      (error: unknown) => done(error as Error, []),
    );
  };
}

/** Reports the phase of the connection to its request. */
function follow(
  socket: Socket,
  waiting: Waiting,
  { named, secure }: { named: boolean; secure: boolean },
): void {
  waiting.socket = socket;
  waiting.phase = named ? 'dns' : 'connect';
  socket.once('lookup', () => {
    waiting.phase = 'connect';
  });
  if (!secure) return;
  socket.once('connect', () => {
    waiting.phase = 'tls';
  });
}
