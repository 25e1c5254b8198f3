import { messageOf } from '../../shared/runtime/errors';
import { loadSettings, type Settings } from '../../shared/runtime/settings';
import { type Session } from '../command';
import { reasonOf } from '../connect/api';
import { listAll } from '../entries';
import {
  type Check,
  clockCheck,
  destinationChecks,
  fail,
  healthChecks,
  keyCheck,
  ok,
  warn,
} from './check';
import { askHealth, askIngest, clockAhead, surroundings, type Surroundings } from './probes';
import { kafkaChecks } from './kafka';
import { CliError } from '../process-context';

/** Makes all checks of `waypost doctor`. */

export async function examine(session: Session): Promise<Check[]> {
  const { url } = session.installation();
  const around = surroundings(session.world, url);
  const settings = settingsOf(around);
  return [
    ...('found' in settings ? [settings] : [ok('settings', 'valid')]),
    ...(await controlChecks(session)),
    ...(await ingestChecks(session, around)),
    ...('found' in settings
      ? []
      : [...(await servicesChecks(settings, around)), ...(await kafkaChecksOf(settings))]),
  ];
}

function settingsOf({ env }: Surroundings): Settings | Check {
  try {
    return loadSettings(env);
  } catch (error) {
    return fail(
      'settings',
      messageOf(error).replace(/\s*\n\s*/g, ' '),
      'Fix them: services do not start with these settings.',
    );
  }
}

async function controlChecks(session: Session): Promise<Check[]> {
  const { url, from } = session.installation();
  const checks: Check[] = [];
  try {
    const ahead = await clockAhead(`${url}/api/v1/openapi.json`);
    checks.push(ok('control', `responds at ${url} (from ${from})`));
    if (ahead !== undefined) checks.push(clockCheck("control's clock", ahead));
  } catch (error) {
    return [
      fail(
        'control',
        `no response at ${url} (${reasonOf(error)})`,
        'Is it running? Set its address with --url, WAYPOST_URL or `waypost login`.',
      ),
    ];
  }
  for (const check of [tokenCheck, keysCheck, historyChecks]) {
    try {
      checks.push(...(await check(session)));
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      const name =
        check === tokenCheck ? 'token' : check === keysCheck ? 'destinations' : 'history';
      checks.push(
        fail(
          name,
          error.message,
          check === historyChecks ? 'Deliveries continue without it. See the log of control.' : '',
        ),
      );
      // Without a token the other checks would fail for the same reason.
      if (check === tokenCheck) break;
    }
  }
  return checks;
}

async function tokenCheck({ api }: Session): Promise<Check[]> {
  const { data } = await api().call('GET /session', {});
  return [ok('token', `valid: ${data.name} (${data.role})`)];
}

async function keysCheck({ api }: Session): Promise<Check[]> {
  const destinations = await listAll(api(), 'destination');
  const lost = destinations.filter(({ webhooks }) => webhooks.some(({ url }) => url === null));
  const check = keyCheck(
    lost.map(({ name }) => name),
    destinations.length,
  );
  return [{ ...check, name: "control's key" }];
}

async function historyChecks({ api }: Session): Promise<Check[]> {
  const { data } = await api().call('GET /overview', {});
  return [ok('history', 'available'), ...destinationChecks(data.data, data.destinations)];
}

async function ingestChecks(
  { installation }: Session,
  { env }: Pick<Surroundings, 'env'>,
): Promise<Check[]> {
  // The public address of ingest may be out of reach of a container; its health port is not.
  if (env.WAYPOST_HEALTH_HOST) return [];
  const { ingestUrl } = installation();
  return [await ingestCheck(ingestUrl)];
}

async function ingestCheck(ingestUrl: string | undefined): Promise<Check> {
  if (ingestUrl === undefined) {
    return warn('ingest', 'not checked', 'Set WAYPOST_INGEST_URL to its address.');
  }
  try {
    const status = await askIngest(ingestUrl);
    if (status === 200) return ok('ingest', `responds at ${ingestUrl}`);
    return fail(
      'ingest',
      `responds with ${String(status)} at ${ingestUrl}`,
      'Is this the address of ingest? If so, see its log.',
    );
  } catch (error) {
    return fail(
      'ingest',
      `no response at ${ingestUrl} (${reasonOf(error)})`,
      'Is it running? Set its address with WAYPOST_INGEST_URL.',
    );
  }
}

const SERVICES = ['ingest', 'router', 'delivery', 'retry', 'audiences', 'control'] as const;

async function servicesChecks(settings: Settings, around: Surroundings): Promise<Check[]> {
  const { local, env } = around;
  const named = env.WAYPOST_HEALTH_HOST;
  const whereabouts = local ? 'here' : named ? 'named' : 'elsewhere';
  const own = /^(0\.0\.0\.0|::)$/.test(settings.WAYPOST_HOST) ? '127.0.0.1' : settings.WAYPOST_HOST;
  const asked = SERVICES.map(async (service) => {
    const port =
      local?.health[service] ??
      settings[`WAYPOST_${service.toUpperCase() as Uppercase<typeof service>}_HEALTH_PORT`];
    const host = whereabouts === 'named' && named ? named.replace('{service}', service) : own;
    const at = `http://${host}:${String(port)}`;
    return {
      service,
      at,
      health: await askHealth(at),
    };
  });
  return healthChecks(await Promise.all(asked), whereabouts);
}

async function kafkaChecksOf(settings: Settings): Promise<Check[]> {
  try {
    return await kafkaChecks(settings);
  } catch (error) {
    return [
      fail(
        'kafka',
        messageOf(error),
        'Is it running, and are KAFKA_BROKERS, KAFKA_SSL and KAFKA_SASL_* correct?',
      ),
    ];
  }
}
