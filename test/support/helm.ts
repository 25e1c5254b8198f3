import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { ROOT } from '../../shared/runtime/repo-root';

/** Renders the chart with Helm, optionally beside an API server that has some objects. */

export const CHART = join(ROOT, 'deploy/helm/waypost');

/** An object of Kubernetes, as far as tests read it. */
export interface Manifest {
  kind: string;
  metadata: { name: string; annotations?: Record<string, string>; labels: Record<string, string> };
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- each kind has fields of its own
  spec: any;
}

export interface Rendered {
  objects: Manifest[];
  /** @throws Error if there is not exactly one object of the kind with this end of its name */
  one(kind: string, ending?: string): Manifest;
}

/** The values that every installation needs. */
export const REQUIRED = {
  kafka: { brokers: ['kafka.streams.svc:9092'] },
  secrets: { existingSecret: 'waypost' },
};

interface Options {
  /** path of the API server's object, and the object */
  cluster?: Record<string, object>;
  flags?: string[];
}

/** by their values and options: a test looks at several objects of one chart */
const charts = new Map<string, Promise<Rendered>>();

/** @throws Error with what Helm printed, if the chart refuses the values */
export function render(values: object, options: Options = {}): Promise<Rendered> {
  const key = JSON.stringify([values, options]);
  const chart = charts.get(key) ?? renderAnew(values, options);
  charts.set(key, chart);
  return chart;
}

async function renderAnew(values: object, options: Options): Promise<Rendered> {
  const output = await helmTemplate(values, options);
  const objects = parseAllDocuments(output)
    .map((document) => document.toJS() as Manifest | null)
    .filter((object) => object !== null);
  return {
    objects,
    one: (kind, ending = '') => {
      const found = objects.filter(
        (object) => object.kind === kind && object.metadata.name.endsWith(ending),
      );
      if (found.length !== 1) {
        throw new Error(`${String(found.length)} of kind ${kind} end in ${ending}`);
      }
      return found[0]!;
    },
  };
}

/** Returns the complaint of Helm about the values, or `rendered`. */
export function message(values: object, options: Options = {}): Promise<string> {
  return helmTemplate(values, options).then(
    () => 'rendered',
    (error: unknown) => (error as Error).message,
  );
}

interface Variable {
  name: string;
  value?: string;
  valueFrom?: { secretKeyRef?: object; fieldRef?: object };
}

/** Returns the environment of the first container of a deployment, a job or a pod. */
export function envOf({ spec }: Manifest): Variable[] {
  return (spec.template?.spec ?? spec).containers[0].env;
}

export function variable(object: Manifest, name: string): Variable | undefined {
  return envOf(object).find((entry) => entry.name === name);
}

async function helmTemplate(values: object, { cluster, flags = [] }: Options): Promise<string> {
  const server = cluster && (await startApi(cluster));
  try {
    // `helm template` asks the server for objects, but not for its version and kinds.
    const at = server
      ? [
          '--dry-run=server',
          `--kube-apiserver=${server.url}`,
          ...server.kinds.map((kind) => `--api-versions=${kind}`),
        ]
      : [];
    const options = ['--namespace=here', '--values=-', '--kube-version=1.34.0', ...at, ...flags];
    return await run(['template', 'waypost', CHART, ...options], values);
  } finally {
    server?.close();
  }
}

function run(args: string[], values: object): Promise<string> {
  return new Promise((resolve, reject) => {
    // Its life is too short to collect garbage.
    const env = { ...process.env, KUBECONFIG: '/dev/null', GOGC: 'off' };
    const child = execFile(
      'helm',
      args,
      { env, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        if (error) reject(new Error(stderr));
        else resolve(stdout);
      },
    );
    child.stdin!.end(JSON.stringify(values));
  });
}

const RESOURCES: Record<string, { name: string; kind: string; namespaced: boolean }[]> = {
  '/apis/apps/v1': [{ name: 'deployments', kind: 'Deployment', namespaced: true }],
  '/apis/apiextensions.k8s.io/v1': [
    { name: 'customresourcedefinitions', kind: 'CustomResourceDefinition', namespaced: false },
  ],
  '/apis/keda.sh/v1alpha1': [{ name: 'scaledobjects', kind: 'ScaledObject', namespaced: true }],
};

/**
 * Starts an API server with these objects. It knows KEDA if it has the definition of a
 * ScaledObject.
 */
async function startApi(
  objects: Record<string, object>,
): Promise<{ url: string; kinds: string[]; close: () => void }> {
  const hasKeda = Object.keys(objects).some((path) => path.includes('keda'));
  const known = Object.keys(RESOURCES).filter((path) => hasKeda || !path.includes('keda'));
  const groups = known.map((path) => {
    const [, , name, version] = path.split('/');
    const groupVersion = { groupVersion: `${name}/${version}`, version };
    return { name, versions: [groupVersion], preferredVersion: groupVersion };
  });
  const answers: Record<string, object> = {
    '/version': { major: '1', minor: '34', gitVersion: 'v1.34.3' },
    '/api': { kind: 'APIVersions', versions: ['v1'] },
    '/api/v1': {
      kind: 'APIResourceList',
      groupVersion: 'v1',
      resources: [
        { name: 'persistentvolumeclaims', kind: 'PersistentVolumeClaim', namespaced: true },
      ],
    },
    '/apis': { kind: 'APIGroupList', apiVersion: 'v1', groups },
    ...Object.fromEntries(
      known.map((path) => [
        path,
        {
          kind: 'APIResourceList',
          groupVersion: path.slice('/apis/'.length),
          resources: RESOURCES[path],
        },
      ]),
    ),
    ...objects,
  };
  const missing = {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    reason: 'NotFound',
    code: 404,
  };
  const server = createServer((request, response) => {
    const answer = answers[new URL(request.url!, 'http://api').pathname];
    response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? missing));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const kinds = known.flatMap((path) =>
    RESOURCES[path]!.map(({ kind }) => `${path.slice('/apis/'.length)}/${kind}`),
  );
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return { url, kinds, close: () => server.close() };
}
