import './start-telemetry';
import { join } from 'node:path';
import { openConfig } from '../../shared/config/reader';
import { serveHealth } from '../../shared/service/health';
import { connectKafka } from '../../shared/kafka/client';
import { run } from '../../shared/service/run';
import { loadSettings } from '../../shared/service/settings';
import { createLog } from '../../shared/telemetry/log';
import { CompiledDefinitions } from './definitions/compile';
import { Service } from './service';
import { observeAudiences, watchFailure } from './telemetry';

/** Computes users' profiles, and sends what follows from them: audiences and computed traits. */

const log = createLog('audiences', 'info');

run('audiences', log, async (onFatal) => {
  const settings = loadSettings(process.env);
  log.level = settings.WAYPOST_LOG_LEVEL;
  const { WAYPOST_HOST: host, WAYPOST_AUDIENCES_HEALTH_PORT: port, WAYPOST_TOPIC_PREFIX: prefix } = settings;
  const kafka = await connectKafka(settings, { clientId: 'audiences', log });
  const config = await openConfig(kafka, { name: 'audiences', log, onFatal });
  const catalog = new CompiledDefinitions(config, (_, reason) => watchFailure(reason));
  const path = join(settings.WAYPOST_DATA_DIR, 'audiences', `${prefix}profiles`);
  const service = new Service({ kafka, config, path, definitions: () => catalog.current, log, onFatal });
  const healthServer = await serveHealth({ host, port, health: service });
  observeAudiences(() => service.pipeline);
  await service.start();

  return {
    async stop(deadlineMs) {
      await service.stop(deadlineMs - 1_000);
      await config.stop();
      await kafka.close();
      healthServer.close();
    },
  };
});
