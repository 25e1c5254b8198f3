import { type ConfigView } from '../../../shared/config/types';
import { type BatchProducer, type Kafka } from '../../../shared/kafka/port';
import { type Log } from '../../../shared/telemetry/log';
import { type History } from '../history/history';
import { ProfileStatus } from './status';
import { QueryClient } from './query-client';
import { MemberPages } from './member-pages';
import { Previews } from './previews';
import { SyncLog } from './sync-log';

export interface ProfilesOptions {
  kafka: Pick<Kafka, 'tail' | 'ranges'>;
  config: Pick<ConfigView, 'audience' | 'computedTrait'>;
  history: Pick<History, 'ask' | 'forgotten'>;
  producer: Pick<BatchProducer, 'send'>;
  log: Log;
  onFatal: (error: unknown) => void;
}

/** Opens everything that needs the audiences service: its reports, and its answers to queries. */
export async function openProfiles({
  kafka,
  config,
  history,
  producer,
  log,
  onFatal,
}: ProfilesOptions) {
  const now = () => new Date();
  const profiles: ProfileStatus = new ProfileStatus((value) => syncs.add(value));
  const syncs = new SyncLog({
    history,
    config,
    log,
    now: Date.now,
    status: (definition, counted) => profiles.of(definition, counted),
    isCaughtUp: () => profiles.caughtUp,
  });
  await profiles.open(kafka, onFatal);
  syncs.start();
  const asking = new QueryClient(kafka, producer, log);
  const previews = new Previews(asking, now, history.forgotten);
  return {
    profiles,
    previews,
    members: new MemberPages(asking, now),
    fullProfiles: () =>
      profiles.full(
        (id) => config.audience(id) !== undefined || config.computedTrait(id) !== undefined,
      ),
    stop: async () => {
      previews.stop();
      await Promise.all([asking.stop(), profiles.stop(), syncs.stop()]);
    },
  };
}
