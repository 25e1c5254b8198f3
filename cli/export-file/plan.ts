import { type Audience, type Destination, type Operations } from '../../shared/api/operations';
import { compact, defined } from '../../shared/collections/defined';
import { counted } from '../confirm';
import { withoutNulls } from '../fields';
import { type DefinitionStep, planAudience, planTrait, traitsInUse } from './definitions';
import {
  deliveryOptionsBody,
  deliveryOptionsPatch,
  lacksLogin,
  movesProxy,
  proxyWanted,
  sameOptions,
} from './delivery-options';
import { replacing } from './replacing';
import { sameAuth, signatureBody, wantedAuth, withSecrets } from './endpoint-auth';
import { HIDDEN } from './hidden';
import { plainOf } from './plain-fields';
import {
  type FileDestination,
  hasLostItsSources,
  namesOf,
  sourceFields,
  type Present,
  type SecretsFile,
  type SettingsFile,
  type SourceFields,
} from './format';

/**
 * Computes the changes of an import before it makes any. Entries that the file does not name stay
 * unchanged.
 */

type Body = Operations['POST /destinations']['body'];
type Patch = Operations['PATCH /destinations/{id}']['body'];
type Webhook = Body['webhooks'][number];

export type Step =
  | { kind: 'source'; act: 'create'; name: string; body: SourceFields }
  | { kind: 'source'; act: 'change'; name: string; id: string; body: SourceFields }
  | {
      kind: 'destination';
      act: 'create';
      name: string;
      body: Omit<Body, 'sources'>;
      sources: string[];
    }
  | ChangedDestination
  | { kind: 'source' | 'destination'; act: 'keep'; name: string }
  | DefinitionStep
  | Removal;

/** Deletes an entry that the file does not have. */
export interface Removal {
  kind: 'source' | 'destination' | 'audience' | 'trait';
  act: 'delete';
  name: string;
  id: string;
}

interface ChangedDestination {
  kind: 'destination';
  act: 'change';
  name: string;
  id: string;
  body: Omit<Patch, 'sources'>;
  /** names */
  sources: string[];
  /** ids of the sources of audiences: no file has them, and they stay */
  telling: string[];
}

export interface Plan {
  steps: Step[];
  /**
   * reasons why the file cannot be applied, one sentence each; with any, the import changes nothing
   */
  faults: string[];
}

/** @param without creates destinations without their missing secrets, disabled */
export function planImport(
  file: SettingsFile,
  present: Present,
  secrets: SecretsFile,
  without: boolean,
): Plan {
  const faults: string[] = [];
  const steps: Step[] = file.sources.map(({ name, ...own }) => {
    const body = sourceFields(own);
    const [same, ...others] = present.sources.filter((source) => source.name === name);
    if (others.length > 0) {
      faults.push(`Several sources here are named "${name}". Rename all but one.`);
    }
    if (!same) return { kind: 'source', act: 'create', name, body };
    const here = Object.entries(sourceFields(same)).filter(([field]) => field in body);
    if (JSON.stringify(Object.fromEntries(here)) === JSON.stringify(body)) {
      return { kind: 'source', act: 'keep', name };
    }
    return { kind: 'source', act: 'change', name, id: same.id, body };
  });
  for (const name of Object.keys(secrets)) {
    if (!file.destinations.some((one) => one.name === name)) {
      faults.push(`The secrets file contains "${name}", which is not a destination in the file.`);
    }
  }
  const known = {
    source: [...file.sources, ...present.sources].map(({ name }) => name),
    destination: [...file.destinations, ...present.destinations].map(({ name }) => name),
  };
  const connects = (who: string, kind: keyof typeof known, names: readonly string[]) => {
    for (const name of names) {
      if (!known[kind].includes(name)) {
        faults.push(
          `"${who}" is connected to ${kind} "${name}", which is neither in the file nor here.`,
        );
      }
    }
  };
  for (const wanted of file.destinations) {
    const named = present.destinations.filter(({ name }) => name === wanted.name);
    if (named.length > 1) {
      faults.push(`Several destinations here are named "${wanted.name}". Rename all but one.`);
    }
    connects(wanted.name, 'source', wanted.sources);
    steps.push(
      planDestination(wanted, {
        same: named[0],
        // A destination may be named `constructor`.
        secrets: Object.hasOwn(secrets, wanted.name) ? secrets[wanted.name] : undefined,
        present,
        without,
        faults,
      }),
    );
  }
  for (const { name, sources, destinations } of [...file.audiences, ...file.traits]) {
    connects(name, 'source', sources ?? []);
    connects(name, 'destination', destinations);
  }
  const names = namesOf(present);
  steps.push(
    ...file.audiences.map((wanted) => planAudience(wanted, present.audiences, names, faults)),
  );
  steps.push(...file.traits.map((wanted) => planTrait(wanted, present.traits, names, faults)));
  faults.push(...traitsInUse(file, present));
  return { steps, faults };
}

/**
 * Returns the removals of an import that replaces the whole configuration, in their order. An entry
 * here is the same as one of the file if they have the same name, or the same key.
 */
export function planRemovals(file: SettingsFile, present: Present): Removal[] {
  const missing = <Same extends 'name' | 'key'>(
    kind: Removal['kind'],
    same: Same,
    here: readonly ({ id: string; name: string } & Record<Same, string>)[],
    wanted: readonly Record<Same, string>[],
  ): Removal[] =>
    here
      .filter((one) => !wanted.some((each) => each[same] === one[same]))
      .map(({ id, name }) => ({
        kind,
        act: 'delete',
        name,
        id,
      }));
  // A file of this installation leaves the others out.
  const counts = (one: Pick<Audience, 'sources'>) => !hasLostItsSources(one, present);
  return [
    ...missing('audience', 'key', present.audiences.filter(counts), file.audiences),
    ...missing('trait', 'key', present.traits.filter(counts), file.traits),
    ...missing('destination', 'name', present.destinations, file.destinations),
    ...missing('source', 'name', present.sources, file.sources),
  ];
}

/** Returns what the changes of an import switch off, pause or remove, a phrase each. */
export function endingsOf(steps: readonly Step[], present: Present): string[] {
  return steps.flatMap((step) => {
    if (step.act !== 'change') return [];
    if (step.kind === 'source') {
      const here = present.sources.find(({ id }) => id === step.id);
      const isEnd = !step.body.enabled && here?.enabled === true;
      return isEnd ? [`disable the source "${step.name}"`] : [];
    }
    if (step.kind !== 'destination') return [];
    const here = present.destinations.find(({ id }) => id === step.id);
    if (!here) return [];
    const { enabled, paused, webhooks } = step.body;
    const fewer = here.webhooks.length - (webhooks?.length ?? here.webhooks.length);
    return compact([
      enabled === false && here.enabled ? `disable "${step.name}"` : undefined,
      paused === true && !here.paused ? `pause "${step.name}"` : undefined,
      fewer > 0 ? `remove ${counted(fewer, 'URL')} of "${step.name}"` : undefined,
    ]);
  });
}

interface PlanContext {
  same: Destination | undefined;
  secrets: SecretsFile[string] | undefined;
  present: Present;
  without: boolean;
  faults: string[];
}

function planDestination(wanted: FileDestination, context: PlanContext): Step {
  const { same, secrets, without, faults } = context;
  const { name, sources, request } = wanted;
  const missing: string[] = [];
  const proxy = proxyWanted(wanted, secrets?.proxy);
  const webhooks = wanted.webhooks.map((webhook) =>
    withValues(webhook, { ...context, proxy }, missing),
  );
  if (wanted.sharedSecret === HIDDEN && !secrets?.sharedSecret && !same?.hasSharedSecret) {
    missing.push('sharedSecret');
  }
  if (lacksLogin(proxy, same)) missing.push('proxy');
  if (missing.length > 0 && !without) {
    faults.push(
      `"${name}" needs ${missing.join(', ')}. Give it with --secrets-file, or use ` +
        '--without-secrets to create it disabled and without secrets.',
    );
  }
  const plain = { ...plainOf(wanted), enabled: wanted.enabled && missing.length === 0 };
  const common = {
    name,
    type: wanted.type,
    webhooks,
    ...defined({ sharedSecret: secrets?.sharedSecret }),
  };
  if (same) {
    if (missing.length === 0 && !secrets && isSame(wanted, same, context.present)) {
      return { kind: 'destination', act: 'keep', name };
    }
    const options = deliveryOptionsPatch(wanted, lacksLogin(proxy, same) ? undefined : proxy);
    const body = {
      ...common,
      ...plain,
      ...options,
      ...defined({
        signature: wanted.signature,
        request: request !== undefined ? replacing(same.request, request) : undefined,
      }),
    };
    const telling = same.sources.filter(
      (id) => !context.present.sources.some((source) => source.id === id),
    );
    return { kind: 'destination', act: 'change', name, id: same.id, sources, telling, body };
  }
  const body = {
    ...common,
    ...withoutNulls(plain),
    ...defined({ request: request || undefined }),
    ...signatureBody(wanted.signature),
    ...deliveryOptionsBody(wanted, lacksLogin(proxy, same) ? undefined : proxy),
  };
  return { kind: 'destination', act: 'create', name, sources, body };
}

function withValues(
  wanted: FileDestination['webhooks'][number],
  { same, secrets, proxy }: PlanContext & { proxy: string | null | undefined },
  missing: string[],
): Webhook {
  const { url, headers } = wanted;
  const keeps = same === undefined || !movesProxy(proxy, same);
  const here = same?.webhooks.find((webhook) => webhook.url === url);
  const stored = (keeps && here?.headers) || {};
  const values: NonNullable<Webhook['headers']> = {};
  for (const [name, value] of Object.entries(headers)) {
    const given = value === HIDDEN ? secrets?.headers[name] : value;
    if (given !== undefined) values[name] = given;
    else if (Object.hasOwn(stored, name)) values[name] = { keep: true };
    else missing.push(`header ${name} of ${new URL(url).origin}`);
  }
  return { url, headers: values, ...withSecrets(wanted, here, { keeps, secrets, missing }) };
}

function isSame(wanted: FileDestination, same: Destination, present: Present): boolean {
  const names = namesOf(present).sources;
  const asFile = {
    ...plainOf(same, wanted),
    request: wanted.request === undefined ? undefined : same.request,
    sources: same.sources.flatMap((id) => names.get(id) ?? []).sort(),
    webhooks: same.webhooks.map((webhook, i) => [
      webhook.url,
      Object.keys(webhook.headers).sort(),
      sameAuth(wanted.webhooks[i], webhook),
    ]),
    signature: wanted.signature === undefined ? undefined : same.signature,
    ...sameOptions(wanted, same),
  };
  const asWanted = {
    ...plainOf(wanted),
    request: wanted.request,
    sources: [...wanted.sources].sort(),
    webhooks: wanted.webhooks.map(({ url, headers, ...own }) => [
      url,
      Object.keys(headers).sort(),
      wantedAuth(own),
    ]),
    signature: wanted.signature,
    ...defined({
      batch: wanted.batch,
      retry: wanted.retry,
      proxy: wanted.proxy,
    }),
  };
  // A value in the clear may differ from the stored one.
  const hasValues = wanted.webhooks.some(({ headers }) =>
    Object.values(headers).some((value) => value !== HIDDEN),
  );
  return !hasValues && JSON.stringify(asFile) === JSON.stringify(asWanted);
}
