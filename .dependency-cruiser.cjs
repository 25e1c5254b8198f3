/** The boundaries between folders (docs/design/architecture.md). */
module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'model-is-pure',
      comment: 'shared/model decides; it reads no clock, no environment and no socket',
      severity: 'error',
      from: { path: '^shared/model' },
      to: {
        pathNot: [
          '^shared/(model|collections|json)',
          '^(node:)?crypto$',
          'node_modules/(zod|ipaddr\\.js)/',
        ],
      },
    },
    {
      name: 'kafka-knows-no-model',
      comment: 'the table of topics alone knows the retry schedule, which its tiers follow',
      severity: 'error',
      from: { path: '^shared/kafka/', pathNot: '^shared/kafka/topics\\.ts$' },
      to: { path: '^shared/model/' },
    },
    {
      name: 'ingest-calls-are-pure',
      comment: 'what a request is read as depends on its bytes alone',
      severity: 'error',
      from: { path: '^services/ingest/calls/' },
      to: {
        pathNot: [
          '^services/ingest/calls/',
          '^shared/(model|collections|json)/',
          '^(node:)?(buffer|crypto|string_decoder)$',
          'node_modules/zod/',
        ],
      },
    },
    {
      name: 'services-do-not-meet',
      comment: 'services speak through Kafka only',
      severity: 'error',
      from: { path: '^services/([^/]+)/' },
      to: { path: '^services/', pathNot: '^services/$1/' },
    },
    {
      name: 'resources-do-not-meet-in-routes',
      comment: 'a resource of control uses the model and the store of another, never its routes',
      severity: 'error',
      from: { path: '^services/control/([^/]+)/', pathNot: '^services/control/app/' },
      to: { path: '^services/control/.*routes\\.ts$', pathNot: '^services/control/$1/' },
    },
    {
      name: 'shared-knows-no-service',
      severity: 'error',
      from: { path: '^shared' },
      to: { path: '^(services|bin|dev|cli|test|tools|clients|console)/' },
    },
    {
      name: 'service-imports-kafka-by-run',
      comment: 'what every part of Waypost may use knows no Kafka; run alone connects a service',
      severity: 'error',
      from: { path: '^shared/runtime/', pathNot: '^shared/runtime/run\\.ts' },
      to: { path: '^shared/(kafka|config)/' },
    },
    {
      name: 'tools-for-tests-only',
      comment:
        'benchmarks, the simulator and the chaos test may import anything; only tests import them',
      severity: 'error',
      from: { pathNot: ['^tools/', '^test/'] },
      to: { path: '^tools/' },
    },
    {
      name: 'command-line-by-the-api',
      comment: 'the command line sees what everybody sees: the API; doctor looks at Kafka too',
      severity: 'error',
      from: { path: '^cli/' },
      to: { path: '^(services|bin|dev|tools|test|console)/' },
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
      comment:
        'the console knows the typed client, and the rules that need no machine; nobody knows the console',
      severity: 'error',
      from: { path: '^console/' },
      to: {
        pathNot: [
          '^console/',
          '^shared/(api|model|collections|json)/',
          '^shared/cel/syntax',
          'node_modules/',
          '\\.css$',
        ],
      },
    },
    {
      name: 'clients-load-no-schema',
      comment:
        'the page and the command line import only the types of the API, so that neither loads zod',
      severity: 'error',
      from: { path: '^(console|cli)/' },
      to: {
        path: '^shared/api/',
        pathNot: '^shared/api/(access|client|operation)\\.ts$',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'kafkajs-stays-in-its-client',
      severity: 'error',
      from: { pathNot: ['^shared/kafka/client/', '^test/', '^tools/'] },
      to: { path: 'node_modules/kafkajs/' },
    },
    {
      name: 'opentelemetry-behind-telemetry',
      comment: 'spans and metrics are plain values until an SDK is asked for',
      severity: 'error',
      from: { pathNot: ['^shared/telemetry/otel-sdk\\.ts'] },
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
      from: { pathNot: ['^services/audiences/profiles/store', '^test/'] },
      to: { path: 'node_modules/lmdb/' },
    },
    {
      name: 'undici-in-delivery-only',
      severity: 'error',
      from: { pathNot: ['^services/delivery/', '^test/', '^tools/', '^(bin|dev)/'] },
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
