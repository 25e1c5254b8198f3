/** The boundaries between folders (docs/design/architecture.md). */
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
      to: { path: '^(services|deploy|cli|bench|test|clients|console)/' },
    },
    {
      name: 'command-line-by-the-api',
      comment: 'the command line sees what everybody sees: the API; doctor looks at Kafka too',
      severity: 'error',
      from: { path: '^cli/' },
      to: { path: '^(services|deploy|bench|test|console)/' },
    },
    {
      name: 'clients-stand-alone',
      comment: 'what is published needs nothing but Node, and only the verifier needs that',
      severity: 'error',
      from: { path: '^clients/node/src/' },
      to: { pathNot: ['^clients/node/src/', '^(node:)?crypto$'] },
    },
    {
      name: 'console-by-its-api',
      comment: 'the console knows the typed client, and the rules that need no machine; nobody knows the console',
      severity: 'error',
      from: { path: '^console/' },
      to: { pathNot: ['^console/', '^shared/(api|domain)/', '^shared/expression/syntax', 'node_modules/', '\\.css$'] },
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
      name: 'lmdb-behind-its-store',
      severity: 'error',
      from: { pathNot: ['^services/audiences/store', '^test/'] },
      to: { path: 'node_modules/lmdb/' },
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
