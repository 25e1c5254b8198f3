import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import ipaddr from 'ipaddr.js';
import { SERVICES } from '../../../bin/service-list';
import { createAddressGuard, METADATA_ADDRESSES } from '../../../shared/model/address-guard';
import { HELM, testWith } from '../../support/external-tools';
import {
  CHART,
  envOf,
  type Manifest,
  type Rendered,
  message,
  render,
  REQUIRED,
  variable,
} from '../../support/helm';
import { read } from './files';

/** Renders the chart with Helm: replicas, images, secrets, network policies, and refused values. */

const story = (name: string, run: () => Promise<void>) => testWith(HELM, name, run);

const DEPLOYMENTS = '/apis/apps/v1/namespaces/here/deployments';
/** Delivery as it lives in the cluster. */
const living = (replicas: number, annotations: Record<string, string> = {}) => ({
  [`${DEPLOYMENTS}/waypost-delivery`]: {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'waypost-delivery', namespace: 'here', annotations },
    spec: { replicas },
  },
});
/** KEDA's definition of a ScaledObject, with the fields of its fallback. */
const keda = (fallback: object) => {
  const schema = {
    openAPIV3Schema: {
      properties: { spec: { properties: { fallback: { properties: fallback } } } },
    },
  };
  return {
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/scaledobjects.keda.sh': {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'scaledobjects.keda.sh' },
      spec: { versions: [{ name: 'v1alpha1', schema }] },
    },
  };
};
const KEDA_2_17 = keda({ replicas: {}, behavior: { type: 'string' } });
const autoscaled = (more: object = {}) => ({
  ...REQUIRED,
  services: { delivery: { autoscaling: { enabled: true, min: 3 }, ...more } },
});
const delivery = async (...args: Parameters<typeof render>) =>
  (await render(...args)).one('Deployment', '-delivery');

story('a deployment starts with the minimum of its autoscaling', async () => {
  const { spec, metadata } = await delivery(autoscaled(), { cluster: KEDA_2_17 });
  expect(spec.replicas).toBe(3);
  expect(metadata.annotations).toEqual({ 'waypost/replicas': '2' });
});

story('the chart passes the retention of topics', async () => {
  const { one } = await render({
    ...REQUIRED,
    kafka: { ...REQUIRED.kafka, retention: { webhooks: '1d', messages: '3d' } },
  });
  const passed = ['-topics', '-control', '-router'].map((ending) => {
    return variable(
      one(ending === '-topics' ? 'Job' : 'Deployment', ending),
      'WAYPOST_TOPIC_RETENTION',
    )?.value;
  });
  expect(new Set(passed)).toEqual(new Set(['messages=3d,webhooks=1d']));
});

story('switching autoscaling on keeps the processes that run', async () => {
  const { spec } = await delivery(autoscaled(), { cluster: { ...KEDA_2_17, ...living(9) } });
  expect(spec.replicas).toBe(9);
});

story('switching autoscaling on starts at least its minimum', async () => {
  const { spec } = await delivery(autoscaled(), { cluster: { ...KEDA_2_17, ...living(1) } });
  expect(spec.replicas).toBe(3);
});

story(
  'switching autoscaling off keeps the processes that run, also in later upgrades',
  async () => {
    const { spec, metadata } = await delivery(REQUIRED, {
      cluster: living(9, { 'waypost/replicas': '2' }),
    });
    expect(spec.replicas).toBe(9);
    expect(metadata.annotations).toEqual({ 'waypost/replicas': '2' });
  },
);

story('changing replicas ends the number that autoscaling left', async () => {
  const values = { ...REQUIRED, services: { delivery: { replicas: 4 } } };
  const { spec, metadata } = await delivery(values, {
    cluster: living(9, { 'waypost/replicas': '2' }),
  });
  expect(spec.replicas).toBe(4);
  expect(metadata.annotations).toBeUndefined();
});

story('without autoscaling the value decides the number of processes', async () => {
  expect((await delivery(REQUIRED, { cluster: living(9) })).spec.replicas).toBe(2);
});

story('autoscaling without KEDA is refused', async () => {
  expect(await message(autoscaled(), { cluster: living(2) })).toContain('needs KEDA 2.17 or newer');
});

story(
  'autoscaling with a KEDA that has no fallback.behavior is refused unless checkKeda is false',
  async () => {
    const cluster = keda({ replicas: {} });
    expect(await message(autoscaled(), { cluster })).toContain('KEDA is older than 2.17');
    expect(await message({ ...autoscaled(), autoscaling: { checkKeda: false } }, { cluster })).toBe(
      'rendered',
    );
  },
);

story('a Kubernetes below 1.27 is refused', async () => {
  expect(await message(REQUIRED, { flags: ['--kube-version=1.26.9'] })).toContain('>=1.27.0-0');
  expect(await message(REQUIRED, { flags: ['--kube-version=1.27.0'] })).toBe('rendered');
});

const imageOf = ({ spec }: Manifest): string => (spec.template?.spec ?? spec).containers[0].image;

story(
  'a tag of one service leaves the others, and the labels of their pods, unchanged',
  async () => {
    const values = {
      ...REQUIRED,
      image: { tag: '2.0.0' },
      services: { router: { image: { tag: `1.0.0@sha256:${'ab'.repeat(32)}` } } },
    };
    const { objects, one } = await render(values);
    const images = objects
      .filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
      .map(imageOf);
    expect(images.toSorted()).toEqual(
      [
        ...Array<string>(6).fill('waypost:2.0.0'),
        `waypost:1.0.0@sha256:${'ab'.repeat(32)}`,
      ].toSorted(),
    );
    expect(imageOf(one('Deployment', '-router'))).toBe(`waypost:1.0.0@sha256:${'ab'.repeat(32)}`);
    const { labels } = one('Deployment', '-router').spec.template.metadata;
    expect(labels['app.kubernetes.io/version']).toBe('1.0.0');
    expect(labels).not.toHaveProperty('helm.sh/chart');
  },
);

story('only the services that need a secret get it', async () => {
  const values = { ...REQUIRED, database: { existingSecret: 'history' } };
  const { objects } = await render(values);
  const secrets = Object.fromEntries(
    objects
      .filter(({ kind }) => ['Deployment', 'Job', 'Pod'].includes(kind))
      .map((object) => [
        object.metadata.name,
        envOf(object).flatMap(({ name, valueFrom }) => (valueFrom?.secretKeyRef ? [name] : [])),
      ]),
  );
  expect(secrets).toEqual({
    'waypost-ingest': [],
    'waypost-router': [],
    'waypost-delivery': ['WAYPOST_SECRET_KEY'],
    'waypost-retry': [],
    'waypost-audiences': [],
    'waypost-control': ['WAYPOST_SECRET_KEY', 'WAYPOST_ADMIN_TOKEN', 'WAYPOST_DATABASE_URL'],
    'waypost-topics': [],
    'waypost-test': ['WAYPOST_TOKEN'],
  });
});

story(
  'with a database control has no volume, requires the address, and may have several processes',
  async () => {
    const database = { existingSecret: 'history', key: 'uri' };
    const { one, objects } = await render({
      ...REQUIRED,
      database,
      services: { control: { replicas: 2 } },
    });
    const control = one('Deployment', '-control');
    expect(control.spec.replicas).toBe(2);
    expect(control.spec.strategy.type).toBe('RollingUpdate');
    expect(variable(control, 'WAYPOST_DATABASE_URL')!.valueFrom!.secretKeyRef).toEqual({
      name: 'history',
      key: 'uri',
    });
    expect(objects.filter(({ kind }) => kind === 'PersistentVolumeClaim')).toEqual([]);
  },
);

story('the address of the database may stay in the secret of an earlier chart', async () => {
  const control = (await render(REQUIRED)).one('Deployment', '-control');
  const secretKeyRef = { name: 'waypost', key: 'database-url', optional: true };
  expect(variable(control, 'WAYPOST_DATABASE_URL')!.valueFrom).toEqual({ secretKeyRef });
});

story(
  'values without a place for the history are refused, unless they say that it may be lost',
  async () => {
    const persistence = { enabled: false };
    expect(await message({ ...REQUIRED, persistence })).toContain(
      'the history of control has no place',
    );
    expect(await message({ ...REQUIRED, persistence: { ...persistence, ephemeral: true } })).toBe(
      'rendered',
    );
    expect(await message({ ...REQUIRED, services: { control: { replicas: 2 } } })).toContain(
      'database.existingSecret',
    );
  },
);

story('uninstalling keeps the claim of the history', async () => {
  const claim = (await render(REQUIRED)).one('PersistentVolumeClaim');
  expect(claim.metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
});

story(
  'the topics job shows its log when it fails, takes its own settings, and ends before the ' +
    'timeout of Helm',
  async () => {
    const { one } = await render({
      ...REQUIRED,
      topicsJob: { env: { WAYPOST_LOG_LEVEL: 'debug' } },
    });
    const job = one('Job');
    expect(job.metadata.annotations).toMatchObject({
      'helm.sh/hook-output-log-policy': 'hook-failed',
    });
    expect(job.spec).toMatchObject({ backoffLimit: 1, activeDeadlineSeconds: 240 });
    expect(variable(job, 'WAYPOST_LOG_LEVEL')!.value).toBe('debug');
    expect(variable(one('Deployment', '-ingest'), 'WAYPOST_LOG_LEVEL')).toBeUndefined();
  },
);

const egress = async (values: object, name = 'delivery') =>
  (await render({ ...REQUIRED, ...values })).one('NetworkPolicy', `-${name}`).spec.egress as {
    to?: object[];
    ports?: { port: number | string; protocol: string }[];
  }[];
const namespace = (name: string) => [
  { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } },
];
const tcp = (...ports: number[]) => ports.map((port) => ({ port, protocol: 'TCP' }));
const anyPort = (rule: { ports?: object[] }) => rule.ports === undefined;

story(
  'the network policies name the brokers of this cluster by their namespace and port',
  async () => {
    const brokers = ['a.pods.streams.svc.cluster.local:9092', 'kafka:9094'];
    for (const name of [...SERVICES, 'topics']) {
      expect(await egress({ kafka: { brokers } }, name)).toContainEqual({
        to: [...namespace('streams'), ...namespace('here')],
        ports: tcp(9092, 9094),
      });
    }
  },
);

story('brokers outside of the cluster need networkPolicy.kafka.to', async () => {
  const kafka = { brokers: ['b-1.example.com:9098', '[fd00::1]:9092'] };
  expect(await message({ ...REQUIRED, kafka })).toContain('networkPolicy.kafka.to is empty');
  const to = [{ ipBlock: { cidr: '10.20.0.0/16' } }];
  expect(await egress({ kafka, networkPolicy: { kafka: { to } } })).toContainEqual({
    to,
    ports: tcp(9098, 9092),
  });
  expect(await message({ ...REQUIRED, kafka, networkPolicy: { enabled: false } })).toBe('rendered');
});

/** The public networks that the template opens for delivery, without the values of a user. */
const openNetworks = (): { cidr: string; except: string[] }[] => {
  const template = read('deploy/helm/waypost/templates/networkpolicies.yaml');
  const from = template.indexOf('- ipBlock:\n            cidr: 0.0.0.0/0');
  const rules = template.slice(from, template.indexOf('{{- with $.Values.allowedNetworks }}'));
  return (parse(`        ${rules}`) as { ipBlock: { cidr: string; except: string[] } }[]).map(
    ({ ipBlock }) => ipBlock,
  );
};
const isWithin = (address: string, cidr: string) => {
  const [parsed, network] = [ipaddr.parse(address), ipaddr.parseCIDR(cidr)];
  return parsed.kind() === network[0].kind() && parsed.match(network);
};

test.each(METADATA_ADDRESSES)('no rule of the chart opens the metadata service %s', (address) => {
  const opening = openNetworks().filter(
    ({ cidr, except }) =>
      isWithin(address, cidr) && !except.some((range) => isWithin(address, range)),
  );
  expect(opening).toEqual([]);
});

test('the chart closes no network that delivery may reach', () => {
  const guard = createAddressGuard([]);
  const ends = openNetworks().flatMap(({ except }) => except.flatMap(endsOf));
  expect(ends).toHaveLength(40);
  expect(ends.filter((address) => guard(address) === undefined)).toEqual([]);
});

/** Returns the first and the last address of a network. */
function endsOf(cidr: string): string[] {
  const kind = cidr.includes(':') ? ipaddr.IPv6 : ipaddr.IPv4;
  return [kind.networkAddressFromCIDR(cidr), kind.broadcastAddressFromCIDR(cidr)].map(String);
}

story(
  'no rule of delivery opens a private network, except an allowed one at its ports',
  async () => {
    const isAnywhere = (rule: { to?: object[] }) =>
      rule.to === undefined || JSON.stringify(rule.to).includes('{}');
    expect((await egress({})).filter(isAnywhere)).toEqual([]);
    const allowed = { to: [{ ipBlock: { cidr: '10.1.0.0/16' } }] };
    expect(await egress({ allowedNetworks: ['10.1.0.0/16'] })).toContainEqual(allowed);
    const limited = {
      allowedNetworks: ['10.1.0.0/16'],
      networkPolicy: { allowedNetworksPorts: [443, 8443] },
    };
    const rules = await egress(limited);
    expect(rules).toContainEqual({ ...allowed, ports: tcp(443, 8443) });
    expect(rules.filter(anyPort)).toHaveLength(1);
  },
);

story('the port of the collector follows from its address', async () => {
  const at = (otlpEndpoint: string) => egress({ telemetry: { otlpEndpoint } }, 'router');
  expect(await at('http://otel.watch.svc:4317')).toContainEqual({
    to: namespace('watch'),
    ports: tcp(4317),
  });
  expect(await at('https://otel.watch.svc/v1')).toContainEqual({
    to: namespace('watch'),
    ports: tcp(443),
  });
  expect(await at('http://otel')).toContainEqual({ to: namespace('here'), ports: tcp(80) });
  const outside = { ...REQUIRED, telemetry: { otlpEndpoint: 'https://otel.example.com' } };
  expect(await message(outside)).toContain('networkPolicy.otlp.to is empty');
});

story('delivery reaches the name servers of WAYPOST_DNS_SERVERS at their ports', async () => {
  const rules = await egress({
    settings: { WAYPOST_DNS_SERVERS: '10.0.0.2, 10.0.0.3:5300,[fd00::2]:5353,fd00::3' },
  });
  const server = (cidr: string, port: number) => ({
    to: [{ ipBlock: { cidr } }],
    ports: [
      { port, protocol: 'UDP' },
      { port, protocol: 'TCP' },
    ],
  });
  for (const rule of [
    server('10.0.0.2/32', 53),
    server('10.0.0.3/32', 5300),
    server('fd00::2/128', 5353),
    server('fd00::3/128', 53),
  ]) {
    expect(rules).toContainEqual(rule);
  }
});

story('only pods of the namespace reach control, unless the values name others', async () => {
  const from = async (networkPolicy: object) =>
    (await render({ ...REQUIRED, networkPolicy })).one('NetworkPolicy', '-control').spec.ingress[1]
      .from as object[];
  const test = {
    podSelector: {
      matchLabels: expect.objectContaining({ 'app.kubernetes.io/component': 'test' }),
    },
  };
  expect(await from({})).toEqual([{ podSelector: {} }, test]);
  const gateway = { namespaceSelector: { matchLabels: { gateway: 'true' } } };
  expect(await from({ controlFrom: [gateway] })).toEqual([gateway, test]);
});

story('the policy of the topics job exists before the job', async () => {
  const { one } = await render(REQUIRED);
  const [policy, job] = [one('NetworkPolicy', '-topics'), one('Job')];
  expect(policy.metadata.annotations).toMatchObject({ 'helm.sh/hook': 'pre-install,pre-upgrade' });
  expect(Number(policy.metadata.annotations!['helm.sh/hook-weight'])).toBeLessThan(0);
  expect(job.spec.template.metadata.labels).toMatchObject(policy.spec.podSelector.matchLabels);
});

const TOGETHER = {
  ...REQUIRED,
  together: true,
  services: Object.fromEntries(SERVICES.map((name) => [name, { replicas: 1 }])),
};

story(
  'together all services run in one pod, which Services, policies and a volume of control lead to',
  async () => {
    const { objects, one } = await render(TOGETHER);
    const all = one('Deployment', '-control');
    const others = objects.filter((object) => object.kind === 'Deployment' && object !== all);
    expect(others.map(({ spec }) => spec.replicas)).toEqual([0, 0, 0, 0, 0]);
    expect([all.spec.replicas, all.spec.strategy.type]).toEqual([1, 'Recreate']);
    const { labels } = all.spec.template.metadata;
    const [container] = all.spec.template.spec.containers;
    expect(container.args).toEqual(['all']);
    expect(container.readinessProbe.httpGet).toEqual({ path: '/readyz/all', port: 'health' });
    for (const name of ['WAYPOST_SECRET_KEY', 'WAYPOST_ADMIN_TOKEN']) {
      expect(variable(all, name)).toBeDefined();
    }
    const volumes = Object.fromEntries(
      all.spec.template.spec.volumes.map(({ name, ...of }: { name: string }) => [name, of]),
    );
    expect(volumes).toMatchObject({
      data: { persistentVolumeClaim: { claimName: 'waypost-control' } },
      stores: { emptyDir: { sizeLimit: '20Gi' } },
    });
    const apart = (await render(REQUIRED)).objects.filter(({ kind }) => kind === 'Service');
    const services = objects.filter(({ kind }) => kind === 'Service');
    const addresses = (list: Manifest[]) =>
      list.map(({ metadata, spec }) => [
        metadata.name,
        spec.ports.map(({ name, port }: { name: string; port: number }) => [name, port]),
      ]);
    expect(addresses(services)).toEqual(addresses(apart));
    const open = container.ports.map(
      ({ containerPort }: { containerPort: number }) => containerPort,
    );
    for (const { spec } of services) {
      expect(labels).toMatchObject(spec.selector);
      for (const { targetPort } of spec.ports) expect(open).toContain(targetPort);
    }
    const policy = one('NetworkPolicy', '-control');
    expect(labels).toMatchObject(policy.spec.podSelector.matchLabels);
    const allowed = policy.spec.ingress.flatMap(({ ports }: { ports: { port: number }[] }) =>
      ports.map(({ port }) => port),
    );
    expect(allowed.toSorted()).toEqual(open.toSorted());
    expect(policy.spec.egress.filter((rule: { to?: object[] }) => rule.to === undefined)).toEqual(
      [],
    );
    expect(labels).toMatchObject(one('PodDisruptionBudget', '-control').spec.selector.matchLabels);
  },
);

story(
  'a switch of together replaces the pod of the embedded database, and never runs two of them',
  async () => {
    const [together, apart] = await Promise.all([render(TOGETHER), render(REQUIRED)]);
    const holders = [together, apart].map(({ objects }) =>
      objects
        .filter(
          ({ kind, spec }) => kind === 'Deployment' && JSON.stringify(spec).includes('"claimName"'),
        )
        .map(({ metadata, spec }) => [metadata.name, spec.selector, spec.strategy]),
    );
    expect(holders[0]).toEqual(holders[1]);
    expect(holders[0]).toMatchObject([['waypost-control', {}, { type: 'Recreate' }]]);
  },
);

/**
 * What Helm merges by: what only one of two manifests has, it leaves in the pod after a failure.
 */
function mergedBy({ spec: { strategy, template } }: Manifest) {
  const { containers } = template.spec;
  return containers.map(({ name, ...container }: Record<string, object>) => [
    name,
    strategy,
    ...['startupProbe', 'livenessProbe', 'readinessProbe'].map((probe) =>
      Object.keys(container[probe]!).toSorted(),
    ),
  ]);
}

story(
  'a switch of together changes objects and creates none, so that a failed one leaves none behind',
  async () => {
    const [together, apart] = await Promise.all([render(TOGETHER), render(REQUIRED)]);
    const names = ({ objects }: Rendered) =>
      objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted();
    expect(names(together)).toEqual(names(apart));
    const merged = ({ objects }: Rendered) =>
      objects
        .filter(({ kind }) => kind === 'Deployment')
        .map((object) => [object.metadata.name, ...mergedBy(object)]);
    expect(merged(together)).toEqual(merged(apart));
  },
);

story(
  'a claim that exists keeps its size, and a switch of together asks for no other',
  async () => {
    const path = '/api/v1/namespaces/here/persistentvolumeclaims/waypost-control';
    const claim = (storage: string) => ({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'waypost-control', namespace: 'here' },
      spec: { resources: { requests: { storage } } },
    });
    const size = ({ one }: Rendered) =>
      one('PersistentVolumeClaim').spec.resources.requests.storage as string;
    expect(size(await render(REQUIRED))).toBe('8Gi');
    expect(size(await render(REQUIRED, { cluster: { [path]: claim('2Gi') } }))).toBe('2Gi');
    const small = parse(readFileSync(join(CHART, 'values-small.yaml'), 'utf8')) as object;
    expect(small).not.toHaveProperty('persistence');
  },
);

story(
  'together values for several processes, or for one service alone, are refused with what to do',
  async () => {
    const refused = (values: object) => message({ ...TOGETHER, ...values });
    const delivery = (fields: object) =>
      refused({ services: { ...TOGETHER.services, delivery: { replicas: 1, ...fields } } });
    expect(await refused({})).toBe('rendered');
    expect(await refused({ services: {} })).toContain(
      '--set services.delivery.replicas=1,services.ingest.replicas=1',
    );
    expect(await delivery({ autoscaling: { enabled: true } })).toContain(
      'services.delivery.autoscaling does not go with',
    );
    expect(await delivery({ env: { WAYPOST_TIMEOUT: '9s' } })).toContain('Set settings instead');
    expect(await delivery({ image: { tag: '1.0.0' } })).toContain('Set image.tag instead');
    expect(await refused({ database: { existingSecret: 'history' } })).toContain(
      'networkPolicy.database.to is empty',
    );
  },
);

story(
  'values that the chart makes itself, or that Kubernetes would refuse, are refused',
  async () => {
    const refused = (values: object) => message({ ...REQUIRED, ...values });
    expect(await refused({ settings: { WAYPOST_PARTITIONS: 3 } })).toContain(
      'settings.WAYPOST_PARTITIONS is made by the chart. Set kafka.partitions instead',
    );
    expect(await refused({ settings: { KAFKA_SASL_USERNAME: 'a' } })).toContain('Set kafka.sasl');
    expect(await refused({ topicsJob: { env: { KAFKA_BROKERS: 'a:1' } } })).toContain(
      'topicsJob.env.KAFKA_BROKERS is made by the chart',
    );
    const service = (name: string, fields: object) => refused({ services: { [name]: fields } });
    expect(await service('delivery', { env: { WAYPOST_SECRET_KEY: 'a' } })).toContain(
      'services.delivery.env.WAYPOST_SECRET_KEY',
    );
    expect(await service('audiences', { replicas: 20 })).toContain(
      'services.audiences.replicas is more than kafka.partitions',
    );
    const traces = { OTEL_TRACES_SAMPLER: 'always_on' };
    expect(await refused({ settings: traces })).toBe('rendered');
    expect(
      await refused({ settings: traces, telemetry: { otlpEndpoint: 'http://otel.obs.svc:4318' } }),
    ).toContain('Set telemetry instead');
    for (const values of [
      { allowedNetworks: ['10.0.0.0/99'] },
      { persistence: { size: '8GB' } },
      { image: { tag: '0.1.0@sha256:abc' } },
      { services: { router: { resources: { requests: { cpus: 1 } } } } },
    ]) {
      expect(await refused(values)).toContain("values don't meet the specifications");
    }
    const fine = {
      allowedNetworks: ['10.0.0.0/8', 'fd00::/64'],
      image: { tag: `0.1.0@sha256:${'a'.repeat(64)}` },
      services: { router: { resources: { requests: { cpu: 0.5, memory: '1.5Gi' } } } },
    };
    expect(await refused(fine)).toBe('rendered');
  },
);

story(
  'doctor in the pod of control reaches the health ports, which no other pod needs to',
  async () => {
    const metricsFrom = [{ podSelector: { matchLabels: { app: 'prometheus' } } }];
    const { objects, one } = await render({ ...REQUIRED, networkPolicy: { metricsFrom } });
    const control = one('Deployment', '-control');
    expect(variable(control, 'WAYPOST_HEALTH_HOST')).toMatchObject({
      value: 'waypost-{service}-health',
    });
    const { labels } = control.spec.template.metadata;
    const policies = objects.filter(
      ({ kind, metadata }) => kind === 'NetworkPolicy' && !/-(test|topics)$/.test(metadata.name),
    );
    expect(policies).toHaveLength(6);
    for (const { spec } of policies) {
      const [, doctor] = spec.ingress[0].from;
      expect(labels).toMatchObject(doctor.podSelector.matchLabels);
    }
    const [pods] = one('NetworkPolicy', '-control').spec.egress.filter(
      ({ ports }: { ports: { port: string }[] }) => ports.some(({ port }) => port === 'health'),
    );
    for (const { kind, spec } of objects) {
      if (kind !== 'Deployment') continue;
      expect(spec.template.metadata.labels).toMatchObject(pods.to[0].podSelector.matchLabels);
    }
  },
);

story(
  'each service has its health port in a Service of its own, whatever carries calls',
  async () => {
    const open = (objects: Manifest[]) =>
      objects
        .filter(({ kind, spec }) => kind === 'Service' && spec.clusterIP === 'None')
        .map(({ metadata, spec }) => [
          metadata.name,
          spec.publishNotReadyAddresses,
          spec.ports[0].port,
        ]);
    const expected = ['ingest', 'router', 'delivery', 'retry', 'control', 'audiences'].map(
      (name, i) => [`waypost-${name}-health`, true, 9401 + i],
    );
    for (const ingestType of ['ClusterIP', 'LoadBalancer']) {
      const { objects } = await render({ ...REQUIRED, service: { ingestType } });
      expect(open(objects)).toEqual(expected);
    }
  },
);

story('values-small.yaml fits on a node with one core and 2 GiB', async () => {
  const small = parse(readFileSync(join(CHART, 'values-small.yaml'), 'utf8')) as { kafka: object };
  const { objects } = await render({
    ...REQUIRED,
    ...small,
    kafka: { ...small.kafka, ...REQUIRED.kafka },
  });
  const deployments = objects.filter(
    ({ kind, spec }) => kind === 'Deployment' && spec.replicas > 0,
  );
  expect(deployments.map(({ spec }) => spec.replicas)).toEqual([1]);
  const requests = deployments.map(
    ({ spec }) => spec.template.spec.containers[0].resources.requests,
  );
  const sum = (name: string) =>
    requests.reduce((total: number, { [name]: value }) => total + parseInt(value), 0);
  expect(sum('cpu')).toBeLessThan(500);
  expect(sum('memory')).toBeLessThan(1536);
});

story(
  'the chart renders with the values of each helm command in the workflow Containers',
  async () => {
    const commands = read('.github/workflows/containers.yml')
      .replaceAll(/\\\n\s*/g, '')
      .match(/helm (install|upgrade) .*/g)!;
    expect(commands.length).toBeGreaterThan(2);
    for (const command of commands) {
      const flags = command.match(/(?<=\s)(-f|--set) \S+/g)!.flatMap((flag) => flag.split(' '));
      expect([command, await message({}, { flags })]).toEqual([command, 'rendered']);
    }
  },
);
