import { join } from 'node:path';
import { type ConfigReader } from '../../shared/config/types';
import { type FollowedDeletions } from '../../shared/deletions/reader';
import { type Kafka } from '../../shared/kafka/port';
import { type Settings } from '../../shared/runtime/settings';
import { type Log } from '../../shared/telemetry/log';
import { Audiences } from './audiences';
import { CompiledDefinitions } from './definitions/compile';
import { observeAudiences, watchFailure } from './telemetry';

/** Wires audiences from its parts: the compiled definitions, the stores and the pipeline. */

interface AudiencesOptions {
  settings: Pick<Settings, 'WAYPOST_DATA_DIR' | 'WAYPOST_TOPIC_PREFIX'>;
  kafka: Kafka;
  config: ConfigReader;
  deletions: FollowedDeletions;
  log: Log;
  onFatal: (error: unknown) => void;
}

/** @returns the service, which does nothing before its `start` */
export function assembleAudiences(options: AudiencesOptions): Audiences {
  const { settings, kafka, config, deletions, log, onFatal } = options;
  const { WAYPOST_DATA_DIR: dataDir, WAYPOST_TOPIC_PREFIX: prefix } = settings;
  const catalog = new CompiledDefinitions(config, (_, reason) => watchFailure(reason));
  const audiences = new Audiences({
    kafka,
    config,
    deletions,
    path: join(dataDir, 'audiences', `${prefix}profiles`),
    definitions: () => catalog.current,
    log,
    onFatal,
  });
  observeAudiences(() => audiences.pipeline);
  return audiences;
}
