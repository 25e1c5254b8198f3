import { Definitions } from '../../../services/audiences/definitions/compile';
import { type Step } from '../../../services/audiences/profiles/change-set';
import { Engine } from '../../../services/audiences/profiles/engine';
import { NEW_PARTITION_STATE } from '../../../services/audiences/profiles/partition-state';
import { type Incoming, type ProfileEvent } from '../../../services/audiences/repartition/event';
import { MemoryStore } from './memory-store';

export const NOW = 1_700_000_000_000;

/**
 * An engine on profiles in memory, whose definitions are live.
 * @param options.end end of the log when it began
 */
export function engineUnderTest(
  definitions: Definitions = new Definitions([]),
  { end = 0 }: { end?: number } = {},
) {
  const store = new MemoryStore();
  const unusable: number[] = [];
  const engine = new Engine(store, NEW_PARTITION_STATE, {
    partition: 0,
    end,
    hasPassed: () => true,
    definitions,
    onUnusable: ({ offset }) => unusable.push(offset),
  });
  const commit = (step: Step | undefined) => {
    if (step) engine.commit(step);
    return step;
  };
  commit(engine.adopt(definitions, NOW));
  while (engine.meta.scan) commit(engine.scan(NOW, 100));
  let offset = engine.meta.live.next;
  const records = (user: string, events: ProfileEvent[]): Incoming[] =>
    events.map((event) => ({
      offset: offset++,
      epoch: 0,
      timestamp: NOW,
      user,
      origin: undefined,
      event,
    }));
  const apply = (user: string, ...events: ProfileEvent[]) =>
    commit(engine.apply(records(user, events), NOW))!;
  return { store, engine, apply, records, unusable };
}

export const identify = (traits: Record<string, string>): ProfileEvent => ({
  kind: 'identify',
  source: 's',
  traits,
  atMs: NOW,
});
