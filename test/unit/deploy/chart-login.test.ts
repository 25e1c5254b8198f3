import { loadSettings } from '../../../shared/runtime/settings';
import { SERVICES } from '../../../bin/service-list';
import { HELM, testWith } from '../../support/external-tools';
import { envOf, type Manifest, message, render, REQUIRED, variable } from '../../support/helm';

/**
 * Renders the chart with Helm: logins to Kafka of services, of the topics job and of KEDA, and
 * zones.
 */

const story = (name: string, run: () => Promise<void>) => testWith(HELM, name, run);

const withKafka = (kafka: object, more: object = {}) => ({
  ...REQUIRED,
  ...more,
  kafka: { ...REQUIRED.kafka, tls: { enabled: true }, ...kafka },
});
const SCRAM = { mechanism: 'scram-sha-512', existingSecret: 'users' };
const OAUTH = {
  mechanism: 'oauthbearer',
  existingSecret: 'clients',
  tokenEndpointUrl: 'https://login.identity.svc/oauth2/token',
};
const BROKER = 'b-1.events.abc123.c2.kafka.eu-west-1.amazonaws.com:9098';
const to = [{ ipBlock: { cidr: '10.20.0.0/16' } }];
const msk = (sasl: object = {}, more: object = {}) =>
  withKafka(
    { brokers: [BROKER], sasl: { mechanism: 'aws-msk-iam', ...sasl } },
    { networkPolicy: { kafka: { to } }, ...more },
  );

const podOf = (object: Manifest) => object.spec.template.spec;
const volume = (object: Manifest, name: string) =>
  podOf(object).volumes.find((entry: { name: string }) => entry.name === name);
const isPod = ({ kind }: Manifest) => ['Deployment', 'Job'].includes(kind);
/**
 * The settings of a container, as its service reads them. Values from secrets are left out, except
 * the user name.
 */
const settingsOf = (object: Manifest) =>
  loadSettings(
    Object.fromEntries(
      envOf(object)
        .filter(({ name, value }) => value !== undefined || name === 'KAFKA_SASL_USERNAME')
        .map(({ name, value = 'someone' }) => [name, value]),
    ),
  );

story(
  'each service and the topics job read their own password from a file, and no other',
  async () => {
    const { objects } = await render(withKafka({ sasl: { ...SCRAM, perService: true } }));
    for (const object of objects.filter(isPod)) {
      const name = object.metadata.name.replace('waypost-', '');
      expect(variable(object, 'KAFKA_SASL_USERNAME')!.valueFrom!.secretKeyRef).toEqual({
        name: 'users',
        key: `${name}-username`,
      });
      expect(variable(object, 'KAFKA_SASL_PASSWORD')).toBeUndefined();
      expect(variable(object, 'KAFKA_SASL_PASSWORD_FILE')!.value).toBe(
        '/etc/waypost/kafka-user/password',
      );
      expect(volume(object, 'kafka-user').secret).toEqual({
        secretName: 'users',
        items: [{ key: `${name}-password`, path: 'password' }],
      });
    }
  },
);

story(
  'a service with a tag of its own gets its password as a variable, which every version reads',
  async () => {
    const { one } = await render(
      withKafka({ sasl: SCRAM }, { services: { router: { image: { tag: '0.0.9' } } } }),
    );
    const router = one('Deployment', '-router');
    expect(variable(router, 'KAFKA_SASL_PASSWORD')!.valueFrom!.secretKeyRef).toEqual({
      name: 'users',
      key: 'password',
    });
    expect(variable(router, 'KAFKA_SASL_PASSWORD_FILE')).toBeUndefined();
    expect(volume(router, 'kafka-user')).toBeUndefined();
  },
);

story(
  'oauthbearer requests tokens with client id and secret, and with every option of the login',
  async () => {
    const sasl = {
      ...OAUTH,
      scope: 'kafka profile',
      audience: 'kafka',
      extensions: { logicalCluster: 'lkc-1', identityPoolId: 'pool-1' },
    };
    const { objects } = await render(withKafka({ sasl }));
    for (const object of objects.filter(isPod)) {
      expect(settingsOf(object)).toMatchObject({
        KAFKA_SASL_MECHANISM: 'oauthbearer',
        KAFKA_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL: OAUTH.tokenEndpointUrl,
        KAFKA_SASL_OAUTHBEARER_SCOPE: 'kafka profile',
        KAFKA_SASL_OAUTHBEARER_AUDIENCE: 'kafka',
        KAFKA_SASL_OAUTHBEARER_EXTENSIONS: sasl.extensions,
        KAFKA_SASL_PASSWORD_FILE: '/etc/waypost/kafka-user/password',
      });
    }
  },
);

story('without a token endpoint the token of the service account logs in', async () => {
  const { objects } = await render(
    withKafka({ sasl: { mechanism: 'oauthbearer', audience: 'kafka' } }),
  );
  for (const object of objects.filter(isPod)) {
    expect(volume(object, 'kafka-token').projected.sources).toEqual([
      { serviceAccountToken: { path: 'token', audience: 'kafka', expirationSeconds: 3600 } },
    ]);
    const mount = podOf(object).containers[0].volumeMounts.find(
      ({ name }: { name: string }) => name === 'kafka-token',
    );
    const { KAFKA_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL: url } = settingsOf(object);
    expect(url).toBe(`file://${mount.mountPath}/token`);
    expect(podOf(object).automountServiceAccountToken).toBe(false);
  }
});

const accountsOf = ({ objects }: { objects: Manifest[] }) =>
  Object.fromEntries(
    objects.filter(isPod).map((object) => [object.metadata.name, podOf(object).serviceAccountName]),
  ) as Record<string, string>;
const PODS = [...SERVICES, 'topics'].map((name) => `waypost-${name}`);
const ROLE = 'eks.amazonaws.com/role-arn';

story('with perService each service logs in to Amazon MSK as its own service account', async () => {
  const role = (name: string) => ({ annotations: { [ROLE]: `arn:aws:iam::1:role/${name}` } });
  const more = {
    services: Object.fromEntries(SERVICES.map((name) => [name, { serviceAccount: role(name) }])),
    topicsJob: { serviceAccount: role('topics') },
    networkPolicy: { kafka: { to }, token: { to } },
  };
  const rendered = await render(msk({ perService: true }, more));
  expect(accountsOf(rendered)).toEqual(Object.fromEntries(PODS.map((name) => [name, name])));
  for (const name of [...SERVICES, 'topics']) {
    const account = rendered.one('ServiceAccount', `waypost-${name}`);
    expect(account.metadata.annotations).toMatchObject(role(name).annotations);
  }
  expect(settingsOf(rendered.one('Deployment', '-ingest'))).toMatchObject({
    KAFKA_SASL_MECHANISM: 'aws-msk-iam',
  });
});

story(
  'the topics job has a service account before the others exist, unless the values name one',
  async () => {
    const rendered = await render(msk());
    const { annotations } = rendered.one('ServiceAccount', '-topics').metadata;
    expect(annotations).toMatchObject({
      'helm.sh/hook': 'pre-install,pre-upgrade',
      'helm.sh/hook-weight': '-5',
    });
    expect(accountsOf(rendered)).toMatchObject({
      'waypost-topics': 'waypost-topics',
      'waypost-ingest': 'waypost',
    });
    const named = await render(msk({}, { serviceAccount: { create: false, name: 'mine' } }));
    expect(new Set(Object.values(accountsOf(named)))).toEqual(new Set(['mine']));
    expect(named.objects.filter(({ kind }) => kind === 'ServiceAccount')).toEqual([]);
  },
);

story('the region of Amazon MSK is a value, and every service gets it', async () => {
  const { one } = await render(
    withKafka(
      { sasl: { mechanism: 'aws-msk-iam', region: 'eu-north-1' } },
      { networkPolicy: { kafka: { to } } },
    ),
  );
  expect(variable(one('Job'), 'AWS_REGION')!.value).toBe('eu-north-1');
});

const REFUSED: [string, object, string][] = [
  [
    'oauthbearer without endpoint and audience',
    { mechanism: 'oauthbearer' },
    'needs kafka.sasl.tokenEndpointUrl',
  ],
  [
    'an endpoint without a secret',
    { ...OAUTH, existingSecret: '' },
    'needs kafka.sasl.existingSecret',
  ],
  [
    'a secret without an endpoint',
    { ...OAUTH, tokenEndpointUrl: '', audience: 'kafka' },
    'existingSecret has no effect',
  ],
  [
    'a secret beside aws-msk-iam',
    { mechanism: 'aws-msk-iam', existingSecret: 'users' },
    'as the service account',
  ],
  ['a secret without a mechanism', { existingSecret: 'users' }, 'kafka.sasl.mechanism is empty'],
  ['a scope beside SCRAM', { ...SCRAM, scope: 'kafka' }, 'kafka.sasl.scope has no effect'],
  ['an extension with a comma', { ...OAUTH, extensions: { pool: 'a,b' } }, 'pool'],
  [
    'a file as the token endpoint',
    { ...OAUTH, tokenEndpointUrl: 'file:///token' },
    'tokenEndpointUrl',
  ],
  ['aws-msk-iam without a region', { mechanism: 'aws-msk-iam' }, 'needs kafka.sasl.region'],
];
for (const [what, sasl, reason] of REFUSED) {
  story(`${what} is refused`, async () =>
    expect(await message(withKafka({ sasl }))).toContain(reason),
  );
}

story('aws-msk-iam without TLS is refused', async () => {
  expect(
    await message(withKafka({ tls: {}, sasl: { mechanism: 'aws-msk-iam', region: 'eu-west-1' } })),
  ).toContain('kafka.tls');
});

const RACK = 'KAFKA_CLIENT_RACK';

story(
  'the zone of services is a value or a label of the pod, and the topics job has none',
  async () => {
    const fixed = await render(withKafka({ rack: 'eu-1a' }));
    expect(variable(fixed.one('Deployment', '-router'), RACK)!.value).toBe('eu-1a');
    expect(variable(fixed.one('Job'), RACK)).toBeUndefined();
    const labelled = await render(withKafka({ rackLabel: 'topology.kubernetes.io/zone' }));
    const { fieldRef } = variable(labelled.one('Deployment', '-router'), RACK)!.valueFrom!;
    expect(fieldRef).toEqual({ fieldPath: "metadata.labels['topology.kubernetes.io/zone']" });
    expect(await message(withKafka({ rack: 'a', rackLabel: 'b' }))).toContain(
      'set only one of them',
    );
  },
);

const acls = (more: object = {}) => ({ acls: { enabled: true, adminSecret: 'admin', ...more } });

story(
  'the topics job that creates ACLs and users is the only one that logs in as the administrator',
  async () => {
    const sasl = { ...SCRAM, perService: true };
    const topicsJob = acls({ scramUsers: true, userPrefix: 'w-' });
    const { one, objects } = await render(withKafka({ sasl }, { topicsJob }));
    const job = one('Job');
    const users = '/etc/waypost/kafka-user/users.txt';
    expect(podOf(job).containers[0].args).toEqual([
      'topics',
      '--acls',
      '--user-prefix=w-',
      `--scram-users=${users}`,
    ]);
    expect(variable(job, 'KAFKA_SASL_USERNAME')!.valueFrom!.secretKeyRef).toEqual({
      name: 'admin',
      key: 'username',
    });
    expect(volume(job, 'kafka-user').secret).toEqual({
      secretName: 'admin',
      items: [
        { key: 'password', path: 'password' },
        { key: 'users.txt', path: 'users.txt' },
      ],
    });
    const others = objects.filter((object) => object !== job);
    expect(JSON.stringify(others)).not.toContain('"admin"');
  },
);

story('ACLs without users of their own, or without an administrator, are refused', async () => {
  const of = (sasl: object, more: object = {}) =>
    message(withKafka({ sasl }, { topicsJob: acls(more) }));
  expect(await of(SCRAM)).toContain('needs kafka.sasl.perService');
  expect(await of({ ...SCRAM, perService: true }, { adminSecret: '' })).toContain(
    'topicsJob.acls.adminSecret',
  );
  expect(await of({ ...OAUTH, perService: true }, { scramUsers: true })).toContain(
    'scramUsers needs',
  );
});

const egress = async (values: object, name: string) =>
  (await render(values)).one('NetworkPolicy', `-${name}`).spec.egress as object[];
const tcp = (port: number) => [{ port, protocol: 'TCP' }];

story(
  'the network policies open the token endpoint to the services and the topics job',
  async () => {
    const identity = [
      { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'identity' } } },
    ];
    for (const name of [...SERVICES, 'topics']) {
      expect(await egress(withKafka({ sasl: OAUTH }), name)).toContainEqual({
        to: identity,
        ports: tcp(443),
      });
    }
    const outside = { ...OAUTH, tokenEndpointUrl: 'https://login.example.com:8443/token' };
    expect(await message(withKafka({ sasl: outside }))).toContain(
      'networkPolicy.token.to is empty',
    );
    const named = withKafka({ sasl: outside }, { networkPolicy: { token: { to } } });
    expect(await egress(named, 'router')).toContainEqual({ to, ports: tcp(8443) });
  },
);

story(
  'the network policies open EKS Pod Identity, or AWS STS where a service account has a role',
  async () => {
    expect(await egress(msk(), 'router')).toContainEqual({
      to: [{ ipBlock: { cidr: '169.254.170.23/32' } }, { ipBlock: { cidr: 'fd00:ec2::23/128' } }],
      ports: tcp(80),
    });
    const role = { serviceAccount: { annotations: { [ROLE]: 'arn:aws:iam::1:role/waypost' } } };
    expect(await message(msk({}, role))).toContain('networkPolicy.token.to is empty');
    const sts = msk({}, { ...role, networkPolicy: { kafka: { to }, token: { to } } });
    expect(await egress(sts, 'router')).toContainEqual({ to, ports: tcp(443) });
    expect(JSON.stringify(await egress(sts, 'router'))).not.toContain('169.254.170.23');
  },
);

const AUTOSCALED = { services: { router: { autoscaling: { enabled: true } } } };
const keda = async (values: object) => {
  const { objects, one } = await render(values);
  const { metadata, authenticationRef } = one('ScaledObject', '-router').spec.triggers[0];
  const [authentication] = objects.filter(({ kind }) => kind === 'TriggerAuthentication');
  const [config] = objects.filter(({ metadata: { name } }) => name === 'waypost-keda');
  return {
    metadata,
    authenticationRef,
    authentication,
    config: config as (Manifest & { data: object }) | undefined,
  };
};

story('KEDA requests tokens with the client of the router', async () => {
  const sasl = {
    ...OAUTH,
    perService: true,
    scope: 'kafka profile',
    extensions: { pool: 'p', cluster: 'c' },
  };
  const { metadata, authentication, config } = await keda(withKafka({ sasl }, AUTOSCALED));
  expect(metadata).toMatchObject({ sasl: 'oauthbearer', tls: 'enable' });
  expect(authentication!.spec.secretTargetRef).toEqual([
    { parameter: 'username', name: 'clients', key: 'router-username' },
    { parameter: 'password', name: 'clients', key: 'router-password' },
  ]);
  const names = ['oauthTokenEndpointUri', 'scopes', 'oauthExtensions'];
  expect(authentication!.spec.configMapTargetRef).toEqual(
    names.map((parameter) => ({ parameter, name: 'waypost-keda', key: parameter })),
  );
  expect(config!.data).toEqual({
    oauthTokenEndpointUri: OAUTH.tokenEndpointUrl,
    scopes: 'kafka,profile',
    oauthExtensions: 'cluster=c,pool=p',
  });
});

story(
  'KEDA logs in to Amazon MSK with the role of the service account, or with its own',
  async () => {
    const own = await keda(msk({}, AUTOSCALED));
    expect(own.metadata).toMatchObject({
      sasl: 'oauthbearer',
      saslTokenProvider: 'aws_msk_iam',
      awsRegion: 'eu-west-1',
    });
    expect(own.authentication!.spec).toEqual({
      podIdentity: { provider: 'aws', identityOwner: 'keda' },
    });
    const serviceAccount = { annotations: { [ROLE]: 'arn:aws:iam::1:role/waypost' } };
    const more = { ...AUTOSCALED, serviceAccount, networkPolicy: { kafka: { to }, token: { to } } };
    const { authentication } = await keda(msk({}, more));
    expect(authentication!.spec).toEqual({
      podIdentity: { provider: 'aws', identityOwner: 'workload' },
    });
  },
);

story('a login that KEDA does not know needs a TriggerAuthentication of the operator', async () => {
  for (const sasl of [
    { ...OAUTH, audience: 'kafka' },
    { mechanism: 'oauthbearer', audience: 'kafka' },
  ]) {
    expect(await message(withKafka({ sasl }, AUTOSCALED))).toContain(
      'autoscaling.triggerAuthentication',
    );
    const named = { ...AUTOSCALED, autoscaling: { triggerAuthentication: 'mine' } };
    const { metadata, authenticationRef, authentication } = await keda(withKafka({ sasl }, named));
    expect([authenticationRef, authentication]).toEqual([{ name: 'mine' }, undefined]);
    expect(metadata).not.toHaveProperty('sasl');
  }
});
