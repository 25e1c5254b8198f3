import { type ConfigView } from '../../../shared/config/types';
import { type Source } from '../../../shared/model/config';
import { messageOf } from '../../../shared/service/errors';
import { type Log } from '../../../shared/telemetry/log';
import { WAYPOST } from '../auth/identities';
import { disconnect } from './definition-entries';
import { sourceOf } from './model';
import { type ConfigEntries } from '../config/config-entries';
import { Periodic } from '../../../shared/service/async';

/**
 * Repairs what an interrupted change of an audience or computed trait left (definition-entries.ts): deletes a source
 * without a definition, and creates the missing source of a definition, which could send nothing.
 *
 * A change in progress, also in another process, looks the same. So only leftovers older than `LEFT_FOR_MS` are
 * repaired.
 */
export interface DefinitionRepairOptions {
  config: ConfigView;
  entries: ConfigEntries;
  now: () => Date;
  log: Log;
}

const LOOK_EVERY_MS = 60_000;
/** Longer than the longest change: each of its records is written, or given up, within 10 s. */
const LEFT_FOR_MS = 5 * 60_000;

type Leftover =
  | { kind: 'orphan'; source: string }
  | { kind: 'renamed'; source: string; name: string }
  | { kind: 'missing'; source: Source };

/** Returns the inconsistencies that an interrupted change leaves. Pure. */
function leftovers(config: Pick<ConfigView, 'list' | 'source'>, now: Date): Leftover[] {
  const definitions = [...config.list('audience'), ...config.list('computed_trait')].map(({ data }) => data);
  const byId = new Map(definitions.map((definition) => [definition.id, definition]));
  const sources = config.list('source').flatMap(({ data }): Leftover | [] => {
    if (data.of === undefined) return [];
    const definition = byId.get(data.of);
    if (definition?.source !== data.id) return { kind: 'orphan', source: data.id };
    return definition.name === data.name ? [] : { kind: 'renamed', source: data.id, name: definition.name };
  });
  const missing = definitions.flatMap((definition): Leftover | [] =>
    config.source(definition.source) ? [] : { kind: 'missing', source: sourceOf(definition, now) },
  );
  return [...sources, ...missing];
}

export class DefinitionRepair {
  /** when each leftover was first seen, ms since 1970 */
  #since = new Map<string, number>();
  readonly #looking = new Periodic(LOOK_EVERY_MS, () => this.look());

  constructor(private readonly options: DefinitionRepairOptions) {}

  start(): void {
    void this.#looking.now();
    this.#looking.start();
  }

  stop(): Promise<void> {
    return this.#looking.stop();
  }

  /** Repairs leftovers that are old enough. Never throws: the next run retries failures. */
  async look(): Promise<void> {
    const { config, now, log } = this.options;
    const nowMs = now().getTime();
    const found = leftovers(config, now());
    const nameOf = (leftover: Leftover) => `${leftover.kind} ${idOf(leftover)}`;
    this.#since = new Map(found.map((each) => [nameOf(each), this.#since.get(nameOf(each)) ?? nowMs]));
    for (const leftover of found) {
      if (nowMs - (this.#since.get(nameOf(leftover)) ?? nowMs) < LEFT_FOR_MS) continue;
      try {
        await this.#mend(leftover);
        log.info({ source: idOf(leftover), was: leftover.kind }, 'definition.repaired');
      } catch (error) {
        log.warn({ source: idOf(leftover), reason: messageOf(error) }, 'definition.repair_failed');
      }
    }
  }

  async #mend(leftover: Leftover): Promise<void> {
    const { entries, now } = this.options;
    const by = WAYPOST;
    switch (leftover.kind) {
      case 'orphan':
        return disconnect(this.options, leftover.source, by);
      case 'renamed': {
        const { source: id, name } = leftover;
        const at = now().toISOString();
        await entries.change('source', { id, ifMatch: undefined, by }, (before) => ({
          ...before,
          name,
          updatedAt: at,
        }));
        return;
      }
      case 'missing':
        await entries.create('source', by, () => leftover.source);
    }
  }
}

function idOf({ source }: Leftover): string {
  return typeof source === 'string' ? source : source.id;
}
