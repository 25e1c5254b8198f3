import { type Encryptor, newSystemEntry } from '../../../shared/config/encryption';
import { MAX_ENTRIES, SYSTEM_ID, type ApiKind, type Kinds } from '../../../shared/model/config';
import { type Write, type ConfigWriter } from '../../../shared/config/writer';
import { type ConfigReader, type ConfigView, type Entry } from '../../../shared/config/types';
import { Problem, unknownId } from '../http/problem';
import { auditNote } from '../history/audit-note';
import { type Actor } from '../http/identity';
import { requireMatch } from '../http/entry-patch';
import { randomBytes } from 'node:crypto';

/**
 * `src_mb1x9k2f0a1b2c3d4e5f6a7b`: ids in order of creation (to the millisecond; the length is
 * constant until 2059).
 */
export function newId(
  prefix:
    'src' | 'dst' | 'whk' | 'del' | 'rpl' | 'tok' | 'aud' | 'trt' | 'pre' | 'qst' | 'rcl' | 'upl',
  now: Date,
): string {
  return `${prefix}_${now.getTime().toString(36)}${randomBytes(8).toString('hex')}`;
}

/** Letters and digits only, because it is part of clients' pages and of Basic user names. */
export function newWriteKey(): string {
  return randomBytes(16).toString('hex');
}

/** In the format of Standard Webhooks, so that its libraries accept it unchanged. */
export function newSharedSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/**
 * Changes entries of `config`, one change at a time: read, decide, write, and only then respond.
 */

/** Only another control process can interfere, which does not happen repeatedly. */
const MAX_TRIES = 3;
const REFRESH_MS = 5_000;

/** The entry to change, and its author. */
export interface At {
  id: string;
  ifMatch: string | undefined;
  by: Actor;
}

export type ConfigEntries = ReturnType<typeof openConfigEntries>;

export function openConfigEntries(config: ConfigReader, writer: ConfigWriter) {
  /** @throws Problem `not_found` */
  const get = <K extends ApiKind>(kind: K, id: string): Entry<Kinds[K]> => {
    const entry = find(config, kind, id);
    if (!entry) throw unknownId(kind, id);
    return entry as Entry<Kinds[K]>;
  };
  const replace = async <K extends ApiKind>(
    kind: K,
    { id, ifMatch, by }: At,
    decide: (data: Kinds[K]) => Kinds[K] | undefined,
  ) => {
    return writer.inTurn(async (write: Write) => {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const before = get(kind, id);
        requireMatch(ifMatch, before.version);
        const after = decide(before.data);
        const note = JSON.stringify(auditNote(by, before.data, after));
        const written = await write(kind, id, after, { replaces: before.version, note });
        if (written.ok) return written;
        await config.refresh(REFRESH_MS);
      }
      throw new Problem('conflict', `The ${kind} is being changed by others. Try again`);
    });
  };
  return {
    get,
    list: <K extends ApiKind>(kind: K) => config.list(kind),
    /** @throws Problem `conflict` if the limit is reached */
    create: <K extends ApiKind>(kind: K, by: Actor, decide: () => Kinds[K]) =>
      writer.inTurn(async (write): Promise<Entry<Kinds[K]>> => {
        if (config.list(kind).length >= MAX_ENTRIES) {
          throw new Problem(
            'conflict',
            `The limit of ${MAX_ENTRIES} entries of kind ${kind} is reached. Delete some ` +
              'that are not used',
          );
        }
        const data = decide();
        const note = JSON.stringify(auditNote(by, undefined, data));
        const written = await write(kind, data.id, data, { replaces: 0, note });
        if (!written.ok) {
          throw new Problem('conflict', `The ${kind} could not be created. Try again`);
        }
        return { version: written.version, data };
      }),
    /**
     * @throws Problem `not_found`, `stale`, `conflict`, or the error of `decide`; then nothing is
     *   written
     */
    change: async <K extends ApiKind>(
      kind: K,
      at: At,
      decide: (data: Kinds[K]) => Kinds[K],
    ): Promise<Entry<Kinds[K]>> => {
      const { version, data } = await replace(kind, at, decide);
      // A change is never a deletion, so `decide` has returned data.
      return { version, data: data as NonNullable<typeof data> };
    },
    /** @throws Problem `not_found`, `stale`, `conflict` */
    remove: async (kind: ApiKind, at: At): Promise<void> => {
      await replace(kind, at, () => undefined);
    },
  };
}

function find(config: ConfigReader, kind: ApiKind, id: string): Entry<Kinds[ApiKind]> | undefined {
  switch (kind) {
    case 'source':
      return config.source(id);
    case 'destination':
      return config.destination(id);
    case 'token':
      return config.token(id);
    case 'audience':
      return config.audience(id);
    case 'computed_trait':
      return config.computedTrait(id);
  }
}

/**
 * Writes the entry by which each process checks that it has the key of `config`, before anything
 * else is written there.
 * @throws AppError as `write` does
 */
export async function markNewSystem(
  config: Pick<ConfigView, 'system' | 'isUnreadable'>,
  writer: Pick<ConfigWriter, 'write'>,
  encryptor: Encryptor,
): Promise<void> {
  // If another control process was first, its entry is equally valid. One that is not authenticated
  // shows that this process has another key.
  if (!config.system() && !config.isUnreadable('system', SYSTEM_ID)) {
    await writer.write('system', SYSTEM_ID, newSystemEntry(encryptor), { replaces: 0 });
  }
}
