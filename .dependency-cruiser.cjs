/** The boundaries between folders (docs/architecture.md). */
module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'domain-is-pure',
      comment: 'shared/domain decides; it reads no clock, no environment and no socket',
      severity: 'error',
      from: { path: '^shared/domain' },
      to: { pathNot: ['^shared/domain', '^(node:)?crypto$', 'node_modules/(zod|ipaddr\\.js)/'] },
    },
    {
      name: 'services-do-not-meet',
      comment: 'services speak through Kafka only',
      severity: 'error',
      from: { path: '^services/([^/]+)/' },
      to: { path: '^services/', pathNot: '^services/$1/' },
    },
    {
      name: 'shared-knows-no-service',
      severity: 'error',
      from: { path: '^shared' },
      to: { path: '^(services|deploy|bench|test|clients)/' },
    },
    {
      name: 'clients-stand-alone',
      comment: 'what is published needs nothing but Node, and only the verifier needs that',
      severity: 'error',
      from: { path: '^clients/node/src/' },
      to: { pathNot: ['^clients/node/src/', '^(node:)?crypto$'] },
    },
    {
      name: 'kafkajs-behind-its-port',
      severity: 'error',
      from: { pathNot: ['^shared/kafka', '^test/', '^bench/'] },
      to: { path: 'node_modules/kafkajs/' },
    },
    {
      name: 'opentelemetry-behind-telemetry',
      comment: 'spans and metrics are plain values until an SDK is asked for',
      severity: 'error',
      from: { pathNot: ['^shared/telemetry/(sdk|otlp)\\.ts'] },
      to: { path: 'node_modules/@opentelemetry/' },
    },
    {
      name: 'databases-behind-their-port',
      severity: 'error',
      from: { pathNot: ['^services/control/history/(postgres|pglite-worker)', '^test/'] },
      to: { path: 'node_modules/(pg|@electric-sql)/' },
    },
    {
      name: 'undici-in-delivery-only',
      severity: 'error',
      from: { pathNot: ['^services/delivery/', '^test/', '^bench/', '^deploy/local/'] },
      to: { path: 'node_modules/undici/' },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(clients/node/)?dist' },
  },
};
