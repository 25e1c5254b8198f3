import { type Lookup } from '../../shared/api/operations';
import { type RouteOutcome } from '../../shared/model/route';
import { cut } from '../output/cut';
import { reasonWords } from './reason-words';

/** Says in words why a destination did not get an event, or not yet. Pure. */

type Became = Lookup['data'][number]['destinations'][number];
type Rule = Exclude<RouteOutcome['outcome'], 'routed'>;

const RULES: Readonly<Record<string, string>> = {
  source_off: 'its source is disabled',
  source_deleted: 'its source was deleted',
  blocked: 'its source blocks this event',
  excluded: 'the call excludes webhooks by its integrations',
  off: 'the destination is disabled',
  not_connected: 'the destination is not connected to its source',
  type: 'the destination does not accept this type',
  filtered: 'its filter does not match',
  filter_failed: 'its filter fails, which counts as no match',
  created_later: 'the destination was created after it',
  too_much_work: 'not examined: the filters of other destinations took all of the time',
} satisfies Record<Rule | 'source_deleted' | 'too_much_work', string>;

/** A longer filter is in `waypost destinations show`. */
const MOST_OF_FILTER = 80;

/** @param filter of the destination today; absent: it has none, or is unknown */
export function whyInWords(
  { outcome, reason }: Pick<Became, 'outcome' | 'reason'>,
  filter: string | null | undefined,
): string | undefined {
  if (reason === null) {
    return outcome === 'unknown'
      ? 'the destination takes it, but the history has no delivery'
      : undefined;
  }
  if (reason === 'filtered' && filter) return `its filter: ${cut(filter, MOST_OF_FILTER)}`;
  return RULES[reason] ?? reasonWords(reason);
}
