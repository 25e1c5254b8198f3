import { join } from 'node:path';
import { runService } from '../../shared/runtime/run';
import { CompiledDefinitions } from './definitions/compile';
import { Service } from './service';
import { observeAudiences, watchFailure } from './telemetry';

/** Computes users' profiles, and sends what follows from them: audiences and computed traits. */

runService('audiences', async ({ settings, log, onFatal, connect, openConfig, onStop }) => {
  const { WAYPOST_DATA_DIR: dataDir, WAYPOST_TOPIC_PREFIX: prefix } = settings;
  let service: Service | undefined = undefined;
  const kafka = await connect({
    notLive: () => service?.notLive() ?? [],
    notReady: () => service?.notReady() ?? ['starting'],
  });
  const config = await openConfig();
  const catalog = new CompiledDefinitions(config, (_, reason) => watchFailure(reason));
  const path = join(dataDir, 'audiences', `${prefix}profiles`);
  const definitions = () => catalog.current;
  service = new Service({ kafka, config, path, definitions, log, onFatal });
  observeAudiences(() => service.pipeline);
  await service.start();
  onStop((deadlineMs) => service.stop(deadlineMs - 1_000));
});
