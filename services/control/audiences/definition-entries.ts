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
 * Makes, changes and deletes audiences and computed traits, each with the source that it is told by and its connections.
 *
 * Several entries change, one after the other, in an order that leaves nothing wrong where it ends in the midst: a definition
 * comes after its source and connections, so that its first sync has somebody to tell, and goes before them. So all that can
 * be left is a source that belongs to nothing: nobody writes to it, and it is swept away (definition-repair.ts).
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

/** @throws Problem as `Entries.create`, and what `decide` throws: then nothing is left behind */
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
    // Once more, where nobody else writes: another may have taken the name meanwhile.
    const entry = await entries.create(kind, by, () => decide(making).data);
    return entry as Entry<T>;
  } catch (error) {
    // What Kafka did not answer may have been written all the same: then the source is the definition's.
    if (error instanceof Problem) await disconnect(deps, source, by);
    throw error;
  }
}

/** @throws Problem as `Entries.change`, and what `decide` throws: then nothing is changed */
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

/** @throws Problem as `Entries.remove` */
export async function removeDefinition(deps: Deps, kind: Kind, at: At): Promise<void> {
  const { source } = deps.entries.get(kind, at.id).data;
  await deps.entries.remove(kind, at);
  await disconnect(deps, source, at.by);
}

/** The destinations that are told by a source. */
export function connectedTo(config: Pick<ConfigView, 'destinationsOf'>, source: string): string[] {
  return config
    .destinationsOf(source)
    .map(({ data }) => data.id)
    .sort();
}

/** Whether its messages may count: a definition's own source says nothing new. */
export function isMessageSource(config: Pick<ConfigView, 'source'>, id: string): boolean {
  const source = config.source(id);
  return source !== undefined && source.data.of === undefined;
}

/** Exactly these from now on. */
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

/** Takes a source away from all its destinations, and deletes it. */
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
