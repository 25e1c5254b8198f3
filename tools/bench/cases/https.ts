import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { makeCertificate } from '../../../test/support/certificate';
import { openLoop, until } from '../../harness/timing';
import { cpuBetween, type CpuUse, readCpu } from '../../harness/usage';
import { type Progress } from '../progress';
import { ratio } from '../arithmetic';
import { micros, PER_WEBHOOK, type Row, rows } from '../rows';
import { firstAttempts, openSeeder, type Seeder } from '../seed';
import { type Bench, withSystem } from '../setup';
import { metricOf } from './observe';
import { type BareFigure, measureBare } from './baseline';
import { type DeliveryFigure, measureDelivery } from './delivery';

/**
 * Delivery over TLS: to one busy endpoint, compared with a bare loop over TLS; and to many
 * endpoints that get a webhook now and then, which tells what the opening of connections costs.
 */

export interface HttpsSize {
  bare: { warmUp: number; count: number };
  busy: { warmUp: number; count: number };
  /** number of seldom used endpoints; each gets one webhook a round */
  endpoints: number;
  rounds: number;
  roundSeconds: number;
}

interface HttpsFigure {
  /** a bare loop over TLS */
  bare: BareFigure;
  /** to one endpoint */
  busy: DeliveryFigure;
  /** to many endpoints, each with one webhook a round */
  seldom: {
    /** webhooks after the first round */
    count: number;
    handshakes: { first: number; later: number };
    /** after the first round */
    cpu: CpuUse;
    /** of delivery, before the first webhook */
    idleCores: number;
  };
}

export function httpsRows({ bare, busy, seldom }: HttpsFigure): Row[] {
  return [
    ...rows('delivery alone over TLS', [
      ['', PER_WEBHOOK, micros(busy, 'delivery')],
      ['', '× bare loop over TLS', ratio(micros(busy, 'delivery'), bare.microsEach), 1.5],
    ]),
    ...rows('seldom used TLS endpoints', [
      ['', 'CPU-ms/webhook', ratio(micros(seldom, 'delivery'), 1_000), 0.25],
      [
        ': handshakes after the first round',
        'a webhook',
        seldom.handshakes.later / seldom.count,
        0,
      ],
      [': delivery without traffic', 'cores', seldom.idleCores],
    ]),
  ];
}

/** The endpoints are names of one server; a wildcard of a certificate needs two labels after it. */
const DOMAIN = 'seldom.localhost';
const IDLE_MS = 5_000;
const ARRIVAL_MS = 30_000;
const POLL_MS = 50;

export async function measureHttps(
  bench: Bench,
  size: HttpsSize,
  progress: Progress,
): Promise<HttpsFigure> {
  const certificate = makeCertificate({ hosts: ['localhost', `*.${DOMAIN}`] });
  const port = await bench.endpoint.openTls(certificate);
  const env = { NODE_EXTRA_CA_CERTS: join(bench.dir, 'https.pem') };
  writeFileSync(env.NODE_EXTRA_CA_CERTS, certificate.cert);
  const origin = `https://localhost:${String(port)}`;
  progress.note('bare loop');
  bench.endpoint.reset({ ids: false });
  const bare = await measureBare({ origin, ...size.bare }, env);
  progress.note('one busy endpoint');
  const busy = await measureDelivery(bench, size.busy, { env, origin });
  progress.note(`${String(size.endpoints)} seldom used endpoints`);
  const urls = Array.from(
    { length: size.endpoints },
    (_, i) => `https://n${String(i)}.${DOMAIN}:${String(port)}/ok/`,
  );
  return { bare, busy, seldom: await measureSeldom(bench, size, { urls, env }) };
}

function measureSeldom(
  bench: Bench,
  { endpoints, rounds, roundSeconds }: HttpsSize,
  { urls, env }: { urls: string[]; env: Record<string, string> },
): Promise<HttpsFigure['seldom']> {
  let seeder: Seeder | undefined;
  let records: ReturnType<typeof firstAttempts> | undefined;
  const before = async (system: { env: Record<string, string> }) => {
    seeder = await openSeeder(system.env);
    records = firstAttempts(await seeder.destinations(urls), {
      from: 0,
      count: rounds * endpoints,
    });
  };
  return withSystem(
    bench,
    { name: 'https', services: ['delivery'], env, before },
    async ({ system, pids }) => {
      const handshakes = () =>
        metricOf(system.healthPorts('delivery'), 'waypost_tls_handshakes_total');
      const mark = async () => ({ cpu: readCpu(pids), handshakes: await handshakes() });
      bench.endpoint.reset({ ids: false });
      try {
        const idleFrom = readCpu(pids);
        await pause(IDLE_MS);
        const idle = cpuBetween(idleFrom, readCpu(pids));
        let first: Awaited<ReturnType<typeof mark>> | undefined;
        for (let round = 1; round <= rounds; round++) {
          await openLoop(
            endpoints / roundSeconds,
            (started) => started < endpoints,
            async () => {
              const next = records?.next();
              if (next && !next.done) await seeder?.append([next.value]);
            },
          );
          const arrived = async () => (await bench.endpoint.report()).count >= round * endpoints;
          if (!(await until(arrived, POLL_MS, ARRIVAL_MS))) {
            throw new Error('not every webhook arrived');
          }
          first ??= await mark();
        }
        const last = await mark();
        const from = first ?? last;
        return {
          count: (rounds - 1) * endpoints,
          handshakes: { first: from.handshakes, later: last.handshakes - from.handshakes },
          cpu: cpuBetween(from.cpu, last.cpu),
          idleCores: (idle.byName.delivery ?? NaN) / idle.seconds,
        };
      } finally {
        await seeder?.close();
      }
    },
  );
}
