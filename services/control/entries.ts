import { type Write } from '../../shared/config/writer';
import { type ConfigReader, type Entry } from '../../shared/config/view';
import { type ConfigWriter } from '../../shared/config/writer';
import { type Kind, type Kinds } from '../../shared/domain/config';
import { Problem } from '../../shared/http/problem';
import { requireMatch } from './preconditions';

/** Changes of entries of `config`, each in a turn of its own: read, decide, write, and only then answer. */

/** Only another control process can get in between; it does not do so for ever. */
const MAX_TRIES = 3;
const REFRESH_MS = 5_000;
/** Every service holds all of them in memory. */
const MAX_ENTRIES = 10_000;

export interface Entries {
  /** @throws Problem `not_found` */
  get<K extends Kind>(kind: K, id: string): Entry<Kinds[K]>;
  list<K extends Kind>(kind: K): readonly Entry<Kinds[K]>[];
  /** @throws Problem `conflict` where there are too many */
  create<K extends Kind>(kind: K, decide: () => Kinds[K]): Promise<Entry<Kinds[K]>>;
  /** @throws Problem `not_found`, `stale`, `conflict`, and what `decide` throws: then nothing is written */
  change<K extends Kind>(
    kind: K,
    at: { id: string; ifMatch: string | undefined },
    decide: (data: Kinds[K]) => Kinds[K],
  ): Promise<Entry<Kinds[K]>>;
  /** @throws Problem `not_found`, `stale`, `conflict` */
  remove(kind: Kind, at: { id: string; ifMatch: string | undefined }): Promise<void>;
}

export function openEntries(config: ConfigReader, writer: ConfigWriter): Entries {
  const get = <K extends Kind>(kind: K, id: string): Entry<Kinds[K]> => {
    const entry = kind === 'source' ? config.source(id) : config.destination(id);
    if (!entry) throw new Problem('not_found', `There is no ${kind} ${JSON.stringify(id.slice(0, 100))}`);
    return entry as Entry<Kinds[K]>;
  };
  const replace = async <K extends Kind>(
    kind: K,
    { id, ifMatch }: { id: string; ifMatch: string | undefined },
    decide: (data: Kinds[K]) => Kinds[K] | undefined,
  ) => {
    return writer.inTurn(async (write: Write) => {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const before = get(kind, id);
        requireMatch(ifMatch, before.version);
        const written = await write(kind, id, decide(before.data), { replaces: before.version });
        if (written.ok) return written;
        await config.refresh(REFRESH_MS);
      }
      throw new Problem('conflict', `The ${kind} is being changed by others; try again`);
    });
  };
  return {
    get,
    list: (kind) => config.list(kind),
    create: (kind, decide) =>
      writer.inTurn(async (write) => {
        if (config.list(kind).length >= MAX_ENTRIES) {
          throw new Problem('conflict', `There are ${MAX_ENTRIES} ${kind}s, which is the most that there may be`);
        }
        const data = decide();
        const written = await write(kind, data.id, data, { replaces: 0 });
        if (!written.ok) throw new Problem('conflict', `The ${kind} could not be made; try again`);
        return { version: written.version, data };
      }),
    change: async (kind, at, decide) => {
      const { version, data } = await replace(kind, at, decide);
      // `decide` gave data: a change is no deletion.
      return { version, data: data as NonNullable<typeof data> };
    },
    remove: async (kind, at) => {
      await replace(kind, at, () => undefined);
    },
  };
}
