import './start-telemetry';
import { openConfig } from '../../shared/config/reader';
import { createClientAddress } from '../../shared/service/client-address';
import { type Health, serveHealth } from '../../shared/service/health';
import { connectKafka } from '../../shared/kafka/client';
import { run } from '../../shared/service/run';
import { loadSettings } from '../../shared/service/settings';
import { observeServer } from '../../shared/telemetry/http-server';
import { createLog } from '../../shared/telemetry/log';
import { budgetsOf, memoryOfProcess } from './budgets';
import { ANSWER_DEADLINE_MS, producerOptions, startIngest } from './service';

/** The ingest service accepts calls over HTTP and answers once Kafka has stored them. */

const log = createLog('ingest', 'info');

run('ingest', log, async (fatal) => {
  const settings = loadSettings(process.env);
  log.level = settings.WAYPOST_LOG_LEVEL;
  const host = settings.WAYPOST_HOST;
  let notReady = ['starting'];
  const health: Health = { notLive: () => [], notReady: () => notReady };
  const healthServer = await serveHealth({ host, port: settings.WAYPOST_INGEST_HEALTH_PORT, health });

  const kafka = await connectKafka(settings, { clientId: 'ingest', log });
  const config = (health.config = await openConfig(kafka, { name: 'ingest', log, onFatal: fatal }));
  const budgets = budgetsOf(memoryOfProcess());
  const producer = await kafka.producer(producerOptions(budgets));
  const server = await startIngest({
    ...{ config, producer, log, budgets, host, port: settings.WAYPOST_INGEST_PORT },
    limits: { maxPerSecond: settings.WAYPOST_SOURCE_MAX_PER_SECOND, processes: settings.WAYPOST_INGEST_PROCESSES },
    clientAddress: createClientAddress(settings.WAYPOST_TRUSTED_PROXIES),
  });
  observeServer();
  notReady = [];
  log.info({ port: server.port, ...budgets }, 'ingest.listening');

  return {
    async stop(deadlineMs) {
      notReady = ['stopping'];
      // A response waits for Kafka at most until its own deadline; no client waits after it.
      const serverMs = Math.min(deadlineMs / 2, ANSWER_DEADLINE_MS + 500);
      await server.stop(serverMs);
      await producer.close(deadlineMs - serverMs);
      await config.stop();
      await kafka.close();
      healthServer.close();
    },
  };
});
