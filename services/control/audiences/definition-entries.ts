import { type ConfigView, type Entry } from '../../../shared/config/types';
import { type Destination } from '../../../shared/model/config';
import { type Audience, type ComputedTrait } from '../../../shared/model/audience-definition';
import { Problem } from '../http/problem';
import { type Kafka } from '../../../shared/kafka/port';
import { MESSAGES } from '../../../shared/kafka/topics';
import { type Actor } from '../auth/identities';
import { type Made, type Making, sourceOf } from './model';
import { type At, type ConfigEntries } from '../config/config-entries';
import { newId } from '../config/ids';

/**
 * Creates, changes and deletes audiences and computed traits, each with its source and connections.
 *
 * A change writes several entries, one after the other, in an order that is safe to interrupt: a definition is created
 * after its source and connections, so that its first sync has receivers, and is deleted before them. So an interrupted
 * change leaves at most a source without a definition. It gets no messages, and definition-repair.ts deletes it.
 */

export interface Deps {
  config: ConfigView;
  entries: ConfigEntries;
  kafka: Pick<Kafka, 'ranges'>;
  now: () => Date;
}

type Kind = 'audience' | 'computed_trait';
type Data = Audience | ComputedTrait;
const PREFIX = { audience: 'aud', computed_trait: 'trt' } as const;

/** @throws Problem as `ConfigEntries.create`, or the error of `decide`; then nothing is left behind */
export async function createDefinition<T extends Data>(
  deps: Deps,
  kind: Kind,
  by: Actor,
  decide: (making: Making) => Made<T>,
): Promise<Entry<T>> {
  const { entries, now } = deps;
  const source = newId('src', now());
  const making = await makingOf(deps, newId(PREFIX[kind], now()), source);
  const { data, destinations } = decide(making);
  await entries.create('source', by, () => sourceOf(data, now()));
  try {
    await connect(deps, source, destinations, by);
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
  kind: Kind,
  at: At,
  decide: (before: T, connected: string[], making: Making) => Made<T>,
): Promise<Entry<T>> {
  const { entries, config } = deps;
  const { data } = entries.get(kind, at.id);
  const making = await makingOf(deps, at.id, data.source);
  let wanted: string[] = [];
  const entry = await entries.change(kind, at, (before) => {
    const made = decide(before as T, connectedTo(config, before.source), making);
    wanted = made.destinations;
    return made.data;
  });
  await connect(deps, data.source, wanted, at.by);
  const source = { id: data.source, ifMatch: undefined, by: at.by };
  const { name } = entry.data;
  if (config.source(data.source)?.data.name !== name) {
    await entries.change('source', source, (before) => ({ ...before, name, updatedAt: deps.now().toISOString() }));
  }
  return entry as Entry<T>;
}

/** @throws Problem as `ConfigEntries.remove` */
export async function removeDefinition(deps: Deps, kind: Kind, at: At): Promise<void> {
  const { source } = deps.entries.get(kind, at.id).data;
  await deps.entries.remove(kind, at);
  await disconnect(deps, source, at.by);
}

/** Returns the destinations connected to a source. */
export function connectedTo(config: Pick<ConfigView, 'destinationsOf'>, source: string): string[] {
  return config
    .destinationsOf(source)
    .map(({ data }) => data.id)
    .sort();
}

/**
 * Returns whether a definition may use the messages of a source. The source of a definition carries only Waypost's own.
 */
export function isMessageSource(config: Pick<ConfigView, 'source'>, id: string): boolean {
  const source = config.source(id);
  return source !== undefined && source.data.of === undefined;
}

/** Connects a source to exactly these destinations. */
async function connect(
  { entries, config }: Pick<Deps, 'config' | 'entries'>,
  source: string,
  wanted: readonly string[],
  by: Actor,
) {
  const connected = connectedTo(config, source);
  const change = (id: string, sources: (before: Destination) => string[]) =>
    entries.change('destination', { id, ifMatch: undefined, by }, (before) => ({
      ...before,
      sources: sources(before),
    }));
  for (const id of wanted.filter((each) => !connected.includes(each))) {
    await change(id, (before) => [...before.sources, source]);
  }
  for (const id of connected.filter((each) => !wanted.includes(each))) {
    await change(id, (before) => before.sources.filter((each) => each !== source));
  }
}

/** Disconnects a source from all its destinations, and deletes it. */
export async function disconnect(deps: Pick<Deps, 'config' | 'entries'>, source: string, by: Actor): Promise<void> {
  await connect(deps, source, [], by);
  if (deps.config.source(source)) await deps.entries.remove('source', { id: source, ifMatch: undefined, by });
}

async function makingOf({ config, kafka, now }: Deps, id: string, source: string): Promise<Making> {
  const ranges = await kafka.ranges(MESSAGES);
  const definitions = () => [...config.list('audience'), ...config.list('computed_trait')].map(({ data }) => data);
  return {
    ...{ id, source, now: now() },
    history: [...ranges].sort((a, b) => a.partition - b.partition).map(({ high }) => high),
    sourceExists: (each) => isMessageSource(config, each),
    destinationExists: (each) => config.destination(each) !== undefined,
    keyTaken: (key, own) => definitions().find((each) => each.key === key && each.id !== own)?.name,
  };
}
