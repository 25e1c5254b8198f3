import { BlockList } from 'node:net';
import { kafkaImage } from '../../../dev/kafka/container';
import { kafkaVersion, readJarList } from '../../../dev/kafka/jar-list';
import { kafkaJars } from '../../../dev/kafka/kafka-jars';
import { SERVICES } from '../../../bin/service-list';
import { loadSettings } from '../../../shared/runtime/settings';
import { read, readYaml, withDefaults } from './files';

/**
 * Dockerfile, docker-compose.yml and the chart agree with the code: settings, ports, services,
 * times.
 */

interface Compose {
  services: Record<
    string,
    {
      command?: string[];
      environment?: Record<string, string | number>;
      volumes?: string[];
      tmpfs?: string[];
      depends_on?: Record<string, { condition: string }>;
      stop_grace_period?: string;
      networks?: string[];
    }
  >;
  networks: Record<string, { ipam: { config: Record<string, string>[] } } | null>;
}
const compose = readYaml<Compose>('docker-compose.yml');
const CHART = 'deploy/helm/waypost';

test.each([...SERVICES, 'topics'])('docker compose runs %s with existing settings', (name) => {
  const { command, environment } = compose.services[name]!;
  expect(command).toEqual([name]);
  const env = Object.fromEntries(
    Object.entries(environment!).map(([key, value]) => [key, withDefaults(String(value))]),
  );
  expect(loadSettings(env).KAFKA_BROKERS).toEqual(['kafka:9092']);
});

test('the settings loader accepts every variable of docker compose, also an empty one', () => {
  const taken = read('docker-compose.yml')
    .match(/(?<=\$\{)WAYPOST_\w+/g)!
    .filter((name) => !OURS.has(name));
  const values: Record<string, string> = { WAYPOST_ADMIN_TOKEN: 'a'.repeat(16) };
  const known = () =>
    loadSettings(Object.fromEntries(taken.map((name) => [name, values[name] ?? ''])));
  expect(known).not.toThrow();
});
/** Variables of docker-compose.yml itself: the image, and the address of published ports. */
const OURS = new Set(['WAYPOST_IMAGE', 'WAYPOST_BIND']);

test('the chart sets only existing settings', () => {
  const templates = read(`${CHART}/templates/_helpers.tpl`);
  const names = templates.match(/\b(?:WAYPOST|KAFKA)_[A-Z_]+\b/g)!;
  const parts = ['KAFKA_SASL_'];
  // Of the command line.
  const known = new Set(Object.keys(loadSettings({})).concat(OPTIONAL, 'WAYPOST_HEALTH_HOST'));
  expect([...new Set(names)].filter((name) => !known.has(name) && !parts.includes(name))).toEqual(
    [],
  );
});
/** Settings without a default, which the parsed settings do not contain. */
const OPTIONAL = read('shared/runtime/settings.ts').match(/(?<=^ {2})[A-Z_]+(?=:)/gm)!;

test('the chart probes each service at its health port', () => {
  const settings = loadSettings({});
  const ports =
    /dict "ingest" ("\d+") "router" ("\d+") "delivery" ("\d+") "retry" ("\d+") "audiences" ("\d+") "control" ("\d+")/
      .exec(read(`${CHART}/templates/_helpers.tpl`))!
      .slice(1);
  expect(ports).toEqual(
    SERVICES.map(
      (name) =>
        `"${settings[`WAYPOST_${name.toUpperCase() as Uppercase<typeof name>}_HEALTH_PORT`]}"`,
    ),
  );
});

test('docker compose and the chart wait longer for a stop than the deadline of the service', () => {
  const deadline =
    Number(
      /STOP_DEADLINE_MS = ([\d_]+)/
        .exec(read('shared/runtime/host-process.ts'))![1]!
        .replace('_', ''),
    ) / 1000;
  const { services } = readYaml<{
    services: Record<string, { preStopSeconds: number; terminationGracePeriodSeconds: number }>;
  }>(`${CHART}/values.yaml`);
  for (const name of SERVICES) {
    const { preStopSeconds, terminationGracePeriodSeconds } = services[name]!;
    expect(terminationGracePeriodSeconds - preStopSeconds).toBeGreaterThan(deadline);
    expect(parseInt(compose.services[name]!.stop_grace_period!)).toBeGreaterThan(deadline);
  }
});

test('the image starts a service as `npm start` does', () => {
  const flags = /NODE_FLAGS = \[([^\]]*)\]/
    .exec(read('dev/service-process.ts'))![1]!
    .match(/--[\w-=]+/g)!;
  const entry = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(stage('service'))![1]!) as string[];
  expect(entry).toEqual(['node', ...flags, 'dist/bin/main.js', 'service']);
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  expect(scripts.service).toContain(`exec node ${flags.join(' ')} dist/bin/main.js service`);
  expect(read('docs/operations/running.md')).toContain(
    `\`node ${flags.slice(1).join(' ')} dist/services/delivery/main.js\``,
  );
});

test('all services, the supervisor and the image allocate from one arena', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  for (const name of ['start', 'demo', 'service']) {
    expect(scripts[name]).toContain('&& MALLOC_ARENA_MAX=1 exec node ');
  }
  expect(read('dev/service-process.ts')).toMatch(
    /ONE_ARENA = { MALLOC_ARENA_MAX: '1' }[^]*env: { \.\.\.ONE_ARENA, /,
  );
  expect(stage('runtime')).toMatch(/MALLOC_ARENA_MAX=1$/m);
});

test('a service in a container creates no key', () => {
  expect(stage('service')).toContain('WAYPOST_GENERATE_SECRETS=false');
  expect(loadSettings({ WAYPOST_GENERATE_SECRETS: 'false' }).WAYPOST_GENERATE_SECRETS).toBe(false);
  expect(read('docker-compose.yml')).not.toContain('WAYPOST_GENERATE_SECRETS');
});

test('each docker compose service gets only its own secrets, as variables and as files', () => {
  const secrets = (name: string) => [
    ...Object.keys(compose.services[name]!.environment ?? {}).filter((key) =>
      /_TOKEN$|_KEY$|_URL$/.test(key),
    ),
    ...(compose.services[name]!.volumes ?? []).filter((volume) => /^(waypost|key):/.test(volume)),
  ];
  const given = Object.keys(compose.services).map((name) => [name, secrets(name)] as const);
  expect(Object.fromEntries(given.filter(([, list]) => list.length > 0))).toEqual({
    secrets: [
      'WAYPOST_ADMIN_TOKEN',
      'WAYPOST_SECRET_KEY',
      'waypost:/var/lib/waypost',
      'key:/var/lib/waypost-key',
    ],
    delivery: ['WAYPOST_SECRET_KEY', 'key:/var/lib/waypost:ro'],
    control: [
      'WAYPOST_ADMIN_TOKEN',
      'WAYPOST_SECRET_KEY',
      'WAYPOST_DATABASE_URL',
      'waypost:/var/lib/waypost',
    ],
  });
});

test('docker compose creates the secrets before it starts the services that read them', () => {
  expect(compose.services.secrets!.command).toEqual(['secrets', '/var/lib/waypost-key']);
  // Docker gives a new volume the owner of the folder in the image; root would own it otherwise.
  expect(stage('service')).toContain(
    'install -d -o 10001 -g 10001 /var/lib/waypost /var/lib/waypost-key',
  );
  for (const name of ['delivery', 'control']) {
    const { secrets, ...others } = compose.services[name]!.depends_on!;
    expect(secrets).toEqual({ condition: 'service_completed_successfully' });
    expect(others).toEqual(compose.services.router!.depends_on);
  }
});

test("the image gets Kafka's jars by a function that exists, and without Java or Maven", () => {
  expect(stage('kafka')).not.toMatch(/apt-get|maven/);
  expect(stage('kafka')).toContain(
    "require('./dist/dev/kafka/kafka-jars.js').kafkaJars(loadSettings(process.env), console.log)",
  );
  expect(kafkaJars).toHaveLength(2);
});

test('the default is a service image, and both run and check health without root or Node', () => {
  expect(
    read('Dockerfile')
      .match(/^FROM .*$/gm)!
      .at(-1),
  ).toBe('FROM runtime AS service');
  for (const name of ['service', 'standalone']) {
    expect(stage(name)).toMatch(/^USER 10001:10001$/m);
    expect(stage(name)).toMatch(/^HEALTHCHECK .* CMD \["healthy", "\w+"\]$/m);
  }
});

test('the image of the whole system has a folder for the state of the command line', () => {
  const [, dataDir] = /WAYPOST_DATA_DIR=(\S+)/.exec(stage('standalone'))!;
  expect(stage('standalone')).toContain(`XDG_STATE_HOME=${dataDir!}/`);
  expect(stage('standalone')).toContain(`install -d -o 10001 -g 10001 ${dataDir!}`);
});

/** Returns the lines of one stage of the Dockerfile. */
function stage(name: string): string {
  return read('Dockerfile')
    .split(/^(?=FROM )/m)
    .find((text) => text.split('\n', 1)[0]!.endsWith(` AS ${name}`))!;
}

test('all files name the same version of Kafka', () => {
  const version = kafkaVersion(readJarList());
  expect(read('docker-compose.yml')).toMatch(
    new RegExp(`image: apache/kafka:${version}(@sha256:|$)`, 'm'),
  );
  const [, composed] = /image: (apache\/kafka:\S+)/.exec(read('docker-compose.yml'))!;
  expect(kafkaImage()).toBe(composed);
});

test.each(Object.keys(compose.services))('docker compose takes every privilege from %s', (name) => {
  expect(compose.services[name]).toMatchObject({
    read_only: true,
    tmpfs: expect.arrayContaining([expect.stringMatching(/^\/tmp/)]),
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
  });
  expect(compose.services[name]).not.toHaveProperty('privileged');
  expect(compose.services[name]).not.toHaveProperty('cap_add');
});

test('docker compose mounts no tmpfs over folders that only the user of an image may write', () => {
  // A tmpfs belongs to root and takes the mode of the folder below it: /tmp is open to everybody.
  const folders = Object.values(compose.services).flatMap(({ tmpfs = [] }) =>
    tmpfs.map((mount) => mount.split(':')[0]),
  );
  expect(new Set(folders)).toEqual(new Set(['/tmp']));
});

test('no password has a default in docker compose, and Grafana has no user', () => {
  const variables = Object.values(compose.services).flatMap(({ environment = {} }) =>
    Object.entries(environment),
  );
  expect(variables.filter(([name]) => /PASSWORD/.test(name))).toEqual([]);
  expect(read('docker-compose.yml')).not.toMatch(/\$\{\w*(PASSWORD|TOKEN|KEY|SECRET)\w*:?-[^}]/);
  expect(compose.services.grafana!.environment).toMatchObject({
    GF_AUTH_BASIC_ENABLED: 'false',
    GF_AUTH_DISABLE_LOGIN_FORM: 'true',
    GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION: 'true',
  });
});

test('webhook receivers have a network where neither Kafka nor the machine can be allowed', () => {
  const members = Object.entries(compose.services).flatMap(([name, { networks = [] }]) =>
    networks.includes('receivers') ? [name] : [],
  );
  expect(members).toEqual(['delivery']);
  const [{ ip_range: range, gateway }] = compose.networks.receivers!.ipam.config as [
    Record<string, string>,
  ];
  const [base = '', bits] = range!.split('/');
  const allowed = new BlockList();
  allowed.addSubnet(base, Number(bits));
  expect(allowed.check(gateway!)).toBe(false);
  expect(read('docker-compose.yml')).toContain(`container:\n    # ${range!}, after`);
  expect(read('docs/operations/running.md')).toContain(`WAYPOST_ALLOWED_NETWORKS=${range!}`);
});

/** The upper half of a network that only Waypost and receivers are in. */
const RECEIVERS = /^10\.213\.\d+\.128\/25$/;

test.each(['docker-compose.yml', 'docs/operations/running.md', 'README.md', 'Dockerfile'])(
  '%s opens no network that Docker or the machine uses, and shows no way to',
  (file) => {
    const text = read(file);
    expect(text).not.toMatch(
      /host-gateway|host\.docker\.internal|network_mode: host|--network[ =]host/,
    );
    const allowed = text.match(/(?<=WAYPOST_ALLOWED_NETWORKS=)[\w.:/,]+/g) ?? [];
    expect(allowed.filter((network) => !RECEIVERS.test(network))).toEqual([]);
    // Nor does a comment or a sentence name one.
    const networks = text.match(/\b\d+\.\d+\.\d+\.\d+\/\d{1,2}\b/g) ?? [];
    expect(networks.filter((network) => !/^10\.213\.\d+\.(0\/24|128\/25)$/.test(network))).toEqual(
      [],
    );
  },
);

test('no container of docker compose has a name or a network of the machine', () => {
  for (const service of Object.values(compose.services)) {
    expect(service).not.toHaveProperty('extra_hosts');
    expect(service).not.toHaveProperty('network_mode', 'host');
  }
});
