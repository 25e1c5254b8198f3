import { type Destination } from '../../../shared/api/operations';
import { type Patch, same } from './draft';

/** Two people changed one destination: what each did, field by field. Pure. */

const SHOWN = ['name', 'sources', 'webhooks', 'types', 'maxPerSecond', 'enabled', 'paused', 'hasSharedSecret'] as const;
type Shown = (typeof SHOWN)[number];

const NAMES: Readonly<Record<Shown, string>> = {
  name: 'Name',
  sources: 'Sources',
  webhooks: 'URLs and headers',
  types: 'Types',
  maxPerSecond: 'Requests a second',
  enabled: 'Switched on',
  paused: 'Paused',
  hasSharedSecret: 'Secret',
};

export interface Difference {
  field: Shown;
  name: string;
  /** as this page had read it */
  before: string;
  theirs: string;
  /** undefined where only they changed it */
  mine: string | undefined;
}

/**
 * @param before what this page had read
 * @param theirs how it is now
 * @param patch what this page wanted to change
 */
export function differences(before: Destination, theirs: Destination, patch: Patch): Difference[] {
  return SHOWN.flatMap((field) => {
    const mine = wanted(field, patch);
    const changed = !same(before[field], theirs[field]);
    if (!changed && mine === undefined) return [];
    return [{ field, name: NAMES[field], before: say(before[field]), theirs: say(theirs[field]), mine }];
  });
}

function wanted(field: Shown, patch: Patch): string | undefined {
  if (field === 'hasSharedSecret') return patch.sharedSecret === undefined ? undefined : 'a new one';
  return patch[field] === undefined ? undefined : say(patch[field]);
}

/** Values are for people; those of headers are never shown, whoever wrote them. */
function say(value: unknown): string {
  if (value === null) return 'all, or no limit';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(sayItem).join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function sayItem(item: unknown): string {
  if (typeof item !== 'object' || item === null) return String(item);
  const { url, headers } = item as { url: string | null; headers?: Record<string, unknown> };
  const names = Object.keys(headers ?? {});
  return `${url ?? 'unreadable'}${names.length === 0 ? '' : ` (${names.join(', ')})`}`;
}
