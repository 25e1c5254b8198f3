import { type AddressGuard, literalAddress } from '../../../shared/model/address-guard';
import { type Addresses, isLocalhost, lookupName, type NameResolver } from './resolver';

/** The addresses that a kept connection leads to, and whether its names still have them. */

export interface Peer {
  /** as `lookupName` returns it */
  readonly name: string;
  readonly address: string;
  /** the proxy that the operator has set: it may be in any network */
  readonly isTrusted: boolean;
  /** the latest answer for the name that still held the address */
  confirmedBy: Addresses | undefined;
}

export const NO_PEERS: readonly Peer[] = [];

/** Returns the address of a host that always has the same one; undefined for any other. */
export function fixedAddress(hostname: string): string | undefined {
  return literalAddress(hostname) ?? (isLocalhost(lookupName(hostname)) ? '127.0.0.1' : undefined);
}

/** @param address that was connected to; undefined if the connection is closed already */
export function peersOf(
  hostname: string,
  address: string | undefined,
  isTrusted = false,
): readonly Peer[] {
  if (address === undefined || fixedAddress(hostname) !== undefined) return NO_PEERS;
  return [{ name: lookupName(hostname), address, isTrusted, confirmedBy: undefined }];
}

/** Returns whether all peers still have their addresses; a promise: ask again after it. */
export type PeerCheck = (peers: readonly Peer[]) => boolean | Promise<void>;

/** Creates a check that costs a look-up in memory as long as the last answer is fresh. */
export function createPeerCheck(names: NameResolver, guard: AddressGuard): PeerCheck {
  return (peers) => {
    for (const peer of peers) {
      const latest = names.latest(peer.name);
      if (latest === undefined || latest === peer.confirmedBy) continue;
      if (latest instanceof Promise) return latest;
      if (!latest.includes(peer.address)) return false;
      // A new connection would be refused.
      if (!peer.isTrusted && latest.some((address) => guard(address) !== undefined)) return false;
      peer.confirmedBy = latest;
    }
    return true;
  };
}
