import { join } from 'node:path';
import { type Settings } from '../../shared/runtime/settings';
import { Audiences } from './audiences';
import { CompiledDefinitions } from './definitions/compile';
import { type PipelineOptions } from './pipeline';
import { observeAudiences, watchFailure } from './telemetry';

/** Wires audiences from its parts: the compiled definitions, the stores and the pipeline. */

interface AudiencesOptions extends Omit<PipelineOptions, 'path' | 'definitions'> {
  settings: Pick<Settings, 'WAYPOST_DATA_DIR' | 'WAYPOST_TOPIC_PREFIX'>;
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
