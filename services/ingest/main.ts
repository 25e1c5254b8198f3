import { createClientAddress } from '../../shared/runtime/client-address';
import { type Health, notReadyReasons } from '../../shared/runtime/health';
import { runService } from '../../shared/runtime/run';
import { observeServer } from '../../shared/telemetry/http-server';
import { budgetsOf, resourcesOf } from './admission';
import { RESPONSE_DEADLINE_MS, producerOptions, startIngest } from './assemble';

/** The ingest service accepts calls over HTTP and answers once Kafka has stored them. */

runService('ingest', async ({ settings, limits, log, connect, openConfig, onStop }) => {
  let listening = false;
  const health: Health = { notLive: () => [], notReady: () => (listening ? [] : ['starting']) };
  const kafka = await connect(health);
  const config = await openConfig();
  const budgets = budgetsOf(resourcesOf(limits));
  const producer = await kafka.producer(producerOptions(budgets));
  onStop((deadlineMs) => producer.close(deadlineMs));
  const server = await startIngest({
    config,
    producer,
    log,
    budgets,
    host: settings.WAYPOST_HOST,
    port: settings.WAYPOST_INGEST_PORT,
    limits: {
      maxPerSecond: settings.WAYPOST_SOURCE_MAX_PER_SECOND,
      processes: settings.WAYPOST_INGEST_PROCESSES,
    },
    clientAddress: createClientAddress(settings.WAYPOST_TRUSTED_PROXIES),
    isReady: () => notReadyReasons(health).length === 0,
    keepAliveMs: settings.WAYPOST_INGEST_KEEP_ALIVE,
  });
  onStop((deadlineMs) => server.stop(serverMs(deadlineMs)));
  observeServer();
  listening = true;
  log.info({ port: server.port, ...budgets }, 'ingest.listening');
});

/**
 * Time for the responses: a response waits for Kafka at most until its own deadline; no client
 * waits after it.
 */
function serverMs(deadlineMs: number): number {
  return Math.min(deadlineMs / 2, RESPONSE_DEADLINE_MS + 500);
}
