import { type ConfigView, type Entry } from '../../../shared/config/types';
import { type Destination, type Source } from '../../../shared/model/config';
import { type Audience, type ComputedTrait } from '../../../shared/model/audience-definition';
import { Problem } from '../http/problem';
import { type Kafka } from '../../../shared/kafka/port';
import { endsOf } from '../../../shared/kafka/scan';
import { MESSAGES } from '../../../shared/kafka/topics';
import { WAYPOST } from '../auth/identities';
import { type Actor } from '../http/identity';
import { type DefinitionKind, type Made, type Making as WholeMaking, sourceOf } from './model';
import { type At, type ConfigEntries, newId } from '../config/config-entries';
import { messageOf } from '../../../shared/runtime/errors';
import { type Log } from '../../../shared/telemetry/log';
import { Periodic } from '../../../shared/runtime/async';

/**
 * Creates, changes and deletes audiences and computed traits, each with its source and connections.
 *
 * A change writes several entries, one after the other, in an order that is safe to interrupt: a
 * definition is created after its source and connections, so that its first sync has receivers, and
 * is deleted before them. So an interrupted change leaves at most a source without a definition. It
 * gets no messages, and `DefinitionRepair` deletes it. (As one entry, every reader of `config`
 * would have to know audiences.)
 */

export interface Deps {
  config: ConfigView;
  entries: ConfigEntries;
  kafka: Pick<Kafka, 'ranges'>;
  now: () => Date;
}

/** What `decide` knows beside the expressions of the request. */
type Making = Omit<WholeMaking, 'expressions'>;

type Data = Audience | ComputedTrait;
const PREFIX = { audience: 'aud', computed_trait: 'trt' } as const;

/**
 * @throws Problem as `ConfigEntries.create`, or the error of `decide`; then nothing is left behind
 */
export async function createDefinition<T extends Data>(
  deps: Deps,
  kind: DefinitionKind,
  by: Actor,
  decide: (making: Making) => Made<T>,
): Promise<Entry<T>> {
  const { entries, now } = deps;
  const source = newId('src', now());
  const making = await makingOf(deps, newId(PREFIX[kind], now()), source);
  const { data, destinations } = decide(making);
  await entries.create('source', by, () => sourceOf(data, now()));
  try {
    await connect(deps, source, { from: [], to: destinations }, by);
    // Decides again within the write: another request may have taken the name.
    const entry = await entries.create(kind, by, () => decide(making).data);
    return entry as Entry<T>;
  } catch (error) {
    // After an unclear answer of Kafka the definition may exist, so the source stays.
    if (error instanceof Problem) await disconnect(deps, source, by);
    throw error;
  }
}

/** @throws Problem as `ConfigEntries.change`, or the error of `decide`; then nothing is changed */
export async function changeDefinition<T extends Data>(
  deps: Deps,
  kind: DefinitionKind,
  at: At,
  decide: (before: T, connected: string[], making: Making) => Made<T>,
): Promise<Entry<T>> {
  const { entries, config } = deps;
  const { data } = entries.get(kind, at.id);
  const making = await makingOf(deps, at.id, data.source);
  let connections: Connections = { from: [], to: [] };
  const entry = await entries.change(kind, at, (before) => {
    const from = connectedTo(config, before.source);
    const made = decide(before as T, from, making);
    connections = { from, to: made.destinations };
    return made.data;
  });
  await connect(deps, data.source, connections, at.by);
  const { name } = entry.data;
  if (config.source(data.source)?.data.name !== name) {
    await renameSource(deps, data.source, name, at.by);
  }
  return entry as Entry<T>;
}

/** @throws Problem as `ConfigEntries.remove` */
export async function removeDefinition(deps: Deps, kind: DefinitionKind, at: At): Promise<void> {
  const { source } = deps.entries.get(kind, at.id).data;
  await deps.entries.remove(kind, at);
  await disconnect(deps, source, at.by);
}

export function connectedTo(config: Pick<ConfigView, 'destinationsOf'>, source: string): string[] {
  return config
    .destinationsOf(source)
    .map(({ data }) => data.id)
    .sort();
}

/**
 * Returns whether a definition may use the messages of a source. The source of a definition carries
 * only Waypost's own.
 */
export function isMessageSource(config: Pick<ConfigView, 'source'>, id: string): boolean {
  const source = config.source(id);
  return source !== undefined && source.data.of === undefined;
}

/** Ids of the destinations of a source, before and after a change. */
interface Connections {
  from: readonly string[];
  to: readonly string[];
}

/**
 * Connects a source to the destinations that a change adds, and disconnects it from those that it
 * removes. What somebody else connects or disconnects meanwhile stays.
 */
async function connect(
  { entries }: Pick<Deps, 'entries'>,
  source: string,
  { from, to }: Connections,
  by: Actor,
) {
  const change = (id: string, sources: (before: Destination) => string[]) =>
    entries.change('destination', { id, ifMatch: undefined, by }, (before) => ({
      ...before,
      sources: sources(before),
    }));
  for (const id of to.filter((each) => !from.includes(each))) {
    await change(id, (before) => [...new Set([...before.sources, source])]);
  }
  for (const id of from.filter((each) => !to.includes(each))) {
    await change(id, (before) => before.sources.filter((each) => each !== source));
  }
}

async function disconnect(
  deps: Pick<Deps, 'config' | 'entries'>,
  source: string,
  by: Actor,
): Promise<void> {
  await connect(deps, source, { from: connectedTo(deps.config, source), to: [] }, by);
  if (deps.config.source(source)) {
    await deps.entries.remove('source', { id: source, ifMatch: undefined, by });
  }
}

async function renameSource(
  { entries, now }: Pick<Deps, 'entries' | 'now'>,
  id: string,
  name: string,
  by: Actor,
): Promise<void> {
  await entries.change('source', { id, ifMatch: undefined, by }, (before) => ({
    ...before,
    name,
    updatedAt: now().toISOString(),
  }));
}

async function makingOf({ config, kafka, now }: Deps, id: string, source: string): Promise<Making> {
  return {
    id,
    source,
    now: now(),
    history: await endsOf(kafka, MESSAGES),
    sourceExists: (each) => isMessageSource(config, each),
    destinationExists: (each) => config.destination(each) !== undefined,
    keyTaken: (key, own) =>
      definitionsIn(config).find((each) => each.key === key && each.id !== own)?.name,
  };
}

function definitionsIn(config: Pick<ConfigView, 'list'>): Data[] {
  return [...config.list('audience'), ...config.list('computed_trait')].map(({ data }) => data);
}

export interface DefinitionRepairOptions {
  config: ConfigView;
  entries: ConfigEntries;
  now: () => Date;
  log: Log;
}

const POLL_EVERY_MS = 60_000;
/** Longer than the longest change: each of its records is written, or given up, within 10 s. */
const LEFT_FOR_MS = 5 * 60_000;

type Leftover =
  | { kind: 'orphan'; source: string }
  | { kind: 'renamed'; source: string; name: string }
  | { kind: 'missing'; source: Source };

/** Returns the inconsistencies that an interrupted change leaves. Pure. */
function leftovers(config: Pick<ConfigView, 'list' | 'source'>, now: Date): Leftover[] {
  const definitions = definitionsIn(config);
  const byId = new Map(definitions.map((definition) => [definition.id, definition]));
  const sources = config.list('source').flatMap(({ data }): Leftover | [] => {
    if (data.of === undefined) return [];
    const definition = byId.get(data.of);
    if (definition?.source !== data.id) return { kind: 'orphan', source: data.id };
    return definition.name === data.name
      ? []
      : { kind: 'renamed', source: data.id, name: definition.name };
  });
  const missing = definitions.flatMap((definition): Leftover | [] =>
    config.source(definition.source) ? [] : { kind: 'missing', source: sourceOf(definition, now) },
  );
  return [...sources, ...missing];
}

/**
 * Repairs what an interrupted change of an audience or computed trait left: deletes a source
 * without a definition, renames a source like its definition, and creates the missing source of a
 * definition, which could send nothing.
 *
 * A change in progress, also in another process, looks the same. So only leftovers older than
 * `LEFT_FOR_MS` are repaired.
 */
export class DefinitionRepair {
  /** when each leftover was first seen, ms since 1970 */
  #since = new Map<string, number>();
  readonly #polling = new Periodic(POLL_EVERY_MS, () => this.poll());

  constructor(private readonly options: DefinitionRepairOptions) {}

  start(): void {
    void this.#polling.now();
    this.#polling.start();
  }

  stop(): Promise<void> {
    return this.#polling.stop();
  }

  /** Repairs leftovers that are old enough. Never throws: the next run retries failures. */
  async poll(): Promise<void> {
    const { config, now, log } = this.options;
    const nowMs = now().getTime();
    const found = leftovers(config, now());
    const nameOf = (leftover: Leftover) => `${leftover.kind} ${idOf(leftover)}`;
    this.#since = new Map(
      found.map((each) => [nameOf(each), this.#since.get(nameOf(each)) ?? nowMs]),
    );
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
    const by = WAYPOST;
    switch (leftover.kind) {
      case 'orphan':
        return disconnect(this.options, leftover.source, by);
      case 'renamed':
        return renameSource(this.options, leftover.source, leftover.name, by);
      case 'missing':
        await this.options.entries.create('source', by, () => leftover.source);
    }
  }
}

function idOf({ source }: Leftover): string {
  return typeof source === 'string' ? source : source.id;
}
