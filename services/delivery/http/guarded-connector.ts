import { type LookupFunction, type Socket } from 'node:net';
import { buildConnector } from 'undici';
import { literalAddress } from '../../../shared/model/address-guard';
import { type Phase } from '../../../shared/model/attempt-events';
import { type NameResolver } from './resolver';

/**
 * Opens sockets: resolves by our own resolver, refuses forbidden addresses at the moment of connecting
 * (a name may point elsewhere by then; undici asks no `lookup` at all for a literal address), verifies certificates,
 * and tells the request that caused it how far it has come.
 */

/** The address is in a network that webhooks may not reach. */
export class ForbiddenAddressError extends Error {
  constructor(hostname: string, reason: string) {
    super(`${hostname} is in a forbidden network (${reason})`);
    this.name = 'ForbiddenAddressError';
  }
}

/** What waits for a socket: told of each phase, and given the socket, so that it can end it. */
export interface Waiting {
  phase: Phase;
  socket: Socket | undefined;
}

export type AddressGuard = (address: string) => string | undefined;

/** undici's connector. @param waiting the request that the socket is for */
export type Connect = (
  target: buildConnector.Options,
  done: buildConnector.Callback,
  waiting: Waiting | undefined,
) => void;

export function createConnector(options: { timeoutMs: number; names: NameResolver; guard: AddressGuard }): Connect {
  const { guard } = options;
  const connect = buildConnector({
    timeout: options.timeoutMs,
    // Said aloud, since NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment would else switch it off.
    rejectUnauthorized: true,
    lookup: vettedLookup(options.names, guard),
    autoSelectFamily: true,
  });

  return (target, done, waiting) => {
    const literal = literalAddress(target.hostname);
    const reason = literal === undefined ? undefined : guard(literal);
    if (reason) {
      done(new ForbiddenAddressError(target.hostname, reason), null);
      return;
    }
    // undici's type says void, and its connector returns the socket at once: without it no phase could be told.
    // eslint-disable-next-line @typescript-eslint/no-confusing-void-expression
    const socket = connect(target, (...[error, opened]) => {
      const peer = opened?.remoteAddress;
      const forbidden = peer === undefined ? undefined : guard(peer);
      if (forbidden) {
        opened?.destroy();
        done(new ForbiddenAddressError(target.hostname, forbidden), null);
      } else if (error) {
        done(error, null);
      } else {
        done(null, opened);
      }
    }) as unknown as Socket;
    if (waiting) follow(socket, waiting, { named: literal === undefined, secure: target.protocol === 'https:' });
  };
}

/** Resolves by our own resolver. One forbidden address among several condemns the name: the others may be a decoy. */
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

/** Tells the request how far its connection has come. */
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
