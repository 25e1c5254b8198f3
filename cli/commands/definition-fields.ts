import { type Audience, type ComputedTrait } from '../../shared/api/operations';
import { type Session } from '../command';
import { findDestination, findSource, idsOf } from '../resolve-by-name';
import { readInput } from '../secret-input';
import { usage } from '../process-context';

/** The options that audiences and computed traits share, and how the commands print both. */

export interface CommonOptions {
  source?: string[];
  allSources?: boolean;
  destination?: string[];
  nobody?: boolean;
  syncEvery?: string;
}

export const COMMON_OPTIONS: [string, string][] = [
  ['--source <source...>', 'sources whose messages count, by id or name (default all)'],
  ['--all-sources', 'count messages of all sources'],
  ['--destination <destination...>', 'destinations that receive updates, by id or name'],
  ['--nobody', 'send updates to no destination'],
  ['--sync-every <duration>', 'interval for sending changes, from 1s to 24h (default 1m)'],
];

export interface CommonFields {
  sources?: string[] | null;
  destinations?: string[];
  syncEvery?: string;
}

/** @throws CliError */
export async function commonFields(session: Session, options: CommonOptions): Promise<CommonFields> {
  const { source, allSources = false, destination, nobody = false, syncEvery } = options;
  if (source && allSources) throw usage('--source and --all-sources exclude each other.');
  if (destination && nobody) throw usage('--destination and --nobody exclude each other.');
  return {
    ...(allSources && { sources: null }),
    ...(source && { sources: await idsOf(findSource, session.api(), source) }),
    ...(nobody && { destinations: [] }),
    ...(destination && { destinations: await idsOf(findDestination, session.api(), destination) }),
    ...(syncEvery !== undefined && { syncEvery }),
  };
}

export interface ConditionOptions {
  condition?: string;
  conditionFile?: string;
}

export const CONDITION_OPTIONS: [string, string][] = [
  ['--condition <cel>', 'condition in CEL: docs/guide/audiences.md'],
  ['--condition-file <file>', 'read the condition from a file; - for standard input'],
];

/** @throws CliError if both are given, or the file cannot be read */
export async function conditionOf(session: Session, options: ConditionOptions): Promise<string | undefined> {
  const { condition, conditionFile } = options;
  if (condition !== undefined && conditionFile !== undefined) {
    throw usage('--condition and --condition-file exclude each other.');
  }
  return conditionFile === undefined ? condition : (await readInput(session.world, conditionFile)).trim();
}

/** Removes the fields that may not be null at creation. */
export function forCreation({
  sources,
  ...rest
}: CommonFields): Omit<CommonFields, 'sources'> & { sources?: string[] } {
  return { ...rest, ...(sources && { sources }) };
}

type Definition = Audience | ComputedTrait;

export function phaseOf({ status: { phase, counted, of } }: Definition): string {
  if (phase === 'first_sync') return `first_sync ${of === 0 ? 0 : Math.floor((counted / of) * 100)} %`;
  return phase;
}

export function showDefinition({ print }: Session, entry: Definition): void {
  const { status } = entry;
  const own: [string, string | null | undefined][] =
    'compute' in entry
      ? [
          ['value', `${entry.compute} of ${entry.event}`],
          ['property', entry.property ?? undefined],
          ['window', entry.window ?? 'all time'],
        ]
      : [['condition', entry.condition ?? 'none, members are uploaded']];
  print.thing(entry, [
    ['id', entry.id],
    ['name', entry.name],
    ['trait', entry.key],
    ...own,
    ['sources', entry.sources?.join(' ') ?? 'all'],
    ['destinations', entry.destinations.join(' ')],
    ['synced every', entry.syncEvery],
    ['state', phaseOf(entry)],
    ['users', status.members],
    ['sent', status.sent],
    ['waiting', status.waiting],
    ['last sync', status.lastSync?.at],
  ]);
}
