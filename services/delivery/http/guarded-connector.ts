import { type LookupFunction, type Socket } from 'node:net';
import { type SecureContext, type TLSSocket } from 'node:tls';
import { buildConnector } from 'undici';
import { literalAddress } from '../../../shared/model/address-guard';
import { type Phase } from '../../../shared/model/attempt-events';
import { type ClientTls } from './client-tls';
import { type NameResolver } from './resolver';
import { TlsSessions } from './tls-sessions';

/**
 * Opens sockets: resolves by our own resolver, refuses forbidden addresses at the moment of connecting (a name may have
 * a new address by then, and undici calls no `lookup` for a literal address), verifies certificates, and reports the
 * phase of the connection to its request.
 */

/** The address is in a network that webhooks may not reach. */
export class ForbiddenAddressError extends Error {
  constructor(hostname: string, reason: string) {
    super(`${hostname} is in a forbidden network (${reason})`);
    this.name = 'ForbiddenAddressError';
  }
}

/** A request that waits for a socket: it receives each phase, and the socket, so that it can destroy it. */
export interface Waiting {
  phase: Phase;
  socket: Socket | undefined;
}

export type AddressGuard = (address: string) => string | undefined;

/**
 * undici's connector.
 * @param waiting the request that the socket is for
 * @param tls the client certificate and the authorities, in place of Node's
 */
export type Connect = (
  target: buildConnector.Options,
  done: buildConnector.Callback,
  waiting: Waiting | undefined,
  tls?: ClientTls,
) => void;

export interface ConnectorOptions {
  timeoutMs: number;
  names: NameResolver;
  guard: AddressGuard;
  /** receives each TLS handshake: `resumed` if it continued an earlier session */
  onHandshake?: (resumed: boolean) => void;
}

export function createConnector({ timeoutMs, names, guard, onHandshake }: ConnectorOptions): Connect {
  const sessions = new TlsSessions();
  const shared = {
    timeout: timeoutMs,
    // Explicit, since NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment would otherwise disable it.
    rejectUnauthorized: true,
    lookup: vettedLookup(names, guard),
    autoSelectFamily: true,
    // undici's own cache holds sessions weakly, and one for all ports of a host.
    maxCachedSessions: 0,
  };
  const connectAnew = buildConnector(shared);

  return (target, done, waiting, tls) => {
    const literal = literalAddress(target.hostname);
    const reason = literal === undefined ? undefined : guard(literal);
    if (reason) {
      done(new ForbiddenAddressError(target.hostname, reason), null);
      return;
    }
    const isSecure = target.protocol === 'https:';
    // A session belongs to the certificates that it began with.
    const server = `${target.hostname}:${target.port}${tls ? ` ${tls.id}` : ''}`;
    const session = isSecure ? sessions.get(server) : undefined;
    const { context: own, error: refusal } = tls ? contextOf(tls) : NODES_OWN;
    if (refusal) {
      done(refusal, null);
      return;
    }
    const connect =
      session || own
        ? buildConnector({ ...shared, ...(session && { session }), ...(own && { secureContext: own }) })
        : connectAnew;
    // undici's type says void, but its connector returns the socket right away. Phases cannot be reported without it.
    // eslint-disable-next-line @typescript-eslint/no-confusing-void-expression
    const socket = connect(target, (...[error, opened]) => {
      const peer = opened?.remoteAddress;
      const forbidden = peer === undefined ? undefined : guard(peer);
      if (forbidden) {
        opened?.destroy();
        done(new ForbiddenAddressError(target.hostname, forbidden), null);
      } else if (error) {
        // The session may be the cause: the next connection does without.
        if (waiting?.phase === 'tls') sessions.delete(server);
        done(error, null);
      } else {
        if (isSecure) onHandshake?.((opened as TLSSocket).isSessionReused());
        done(null, opened);
      }
    }) as unknown as Socket;
    if (isSecure) socket.on('session', (made: Buffer) => sessions.set(server, made));
    if (waiting) follow(socket, waiting, { named: literal === undefined, secure: isSecure });
  };
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

/** Resolves by our own resolver. One forbidden address among several rejects the name: the others may be a decoy. */
function vettedLookup(names: NameResolver, guard: AddressGuard): LookupFunction {
  return (hostname, { all }, done) => {
    names.resolve(hostname).then(
      (addresses) => {
        for (const address of addresses) {
          const reason = guard(address);
          if (reason) {
            done(new ForbiddenAddressError(hostname, reason), []);
            return;
          }
        }
        const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
        if (all) done(null, found);
        else done(null, found[0]?.address ?? '', found[0]?.family);
      },
      (error: unknown) => done(error as Error, []),
    );
  };
}

/** Reports the phase of the connection to its request. */
function follow(socket: Socket, waiting: Waiting, { named, secure }: { named: boolean; secure: boolean }): void {
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
