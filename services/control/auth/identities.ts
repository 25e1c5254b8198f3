import { createHash, timingSafeEqual } from 'node:crypto';
import { type ConfigReader, type Entry } from '../../../shared/config/types';
import { type Token } from '../../../shared/model/config';
import { type Actor, type Identity } from '../http/identity';

/**
 * Finds the owner of a token: the admin token of the settings, or one created through the API,
 * whose hash is in `config`.
 */

export type Identities = ReturnType<typeof openIdentities>;

/** Waypost itself, when it changes something by the rules that people have set. */
export const WAYPOST: Actor = { id: 'waypost', name: 'Waypost', role: 'operator' };

const ROOT: Actor = { id: 'admin', name: 'admin token', role: 'admin' };
const MARK_LENGTH = 16;

export function hasExpired({ expiresAt }: Pick<Identity, 'expiresAt'>, nowMs: number): boolean {
  return expiresAt !== undefined && expiresAt <= nowMs;
}

/** @param config the current tokens: a deleted one is refused from then on */
export function openIdentities(
  adminToken: string,
  config: Pick<ConfigReader, 'list' | 'token' | 'onChange'>,
) {
  const rootHash = hashToken(adminToken);
  const root: Identity = {
    actor: ROOT,
    mark: rootHash.slice(0, MARK_LENGTH),
    rights: undefined,
    expiresAt: undefined,
  };
  const idByHash = new Map<string, string>();
  const learn = (token: Token) => idByHash.set(token.hash, token.id);
  for (const { data } of config.list('token')) learn(data);
  config.onChange((record) => {
    if (record.kind === 'token' && record.data) learn(record.data as Token);
  });
  const of = (entry: Entry<Token> | undefined): Identity | undefined => {
    if (!entry) return undefined;
    const { id, name, role, hash, rights, expiresAt } = entry.data;
    return {
      actor: { id, name, role },
      mark: hash.slice(0, MARK_LENGTH),
      rights,
      expiresAt: expiresAt === undefined ? undefined : Date.parse(expiresAt),
    };
  };
  return {
    /**
     * Includes expired tokens: check `hasExpired`. It compares digests, so that the duration
     * reveals nothing about a guess.
     */
    ofToken: (token: string): Identity | undefined => {
      const hash = hashToken(token);
      if (timingSafeEqual(Buffer.from(hash), Buffer.from(rootHash))) return root;
      const entry = config.token(idByHash.get(hash) ?? '');
      return entry?.data.hash === hash ? of(entry) : undefined;
    },
    /** @returns undefined if its token was changed or deleted */
    ofSession: (id: string, mark: string): Identity | undefined => {
      const identity = id === ROOT.id ? root : of(config.token(id));
      return identity?.mark === mark ? identity : undefined;
    },
  };
}

export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}
