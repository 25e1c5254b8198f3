import { type Command } from 'commander';
import { type Alerts, type Operations } from '../../shared/api/operations';
import { type Cli, group, leaf, type Session } from '../command';
import { showTest } from '../output/test';
import { FAILED, usage } from '../world';
import { ROTATION_OPTIONS, type RotationOptions, rotationOf, showRotated } from './rotation';
import { WEBHOOK_EDITS, webhookFieldsOf, webhookLines, type WebhookOptions } from './webhook-fields';

/** `waypost alerts`: when somebody is told that a destination is in trouble, and where. */

interface EditOptions extends WebhookOptions {
  webhooks?: boolean;
  failingFor?: string;
  deadLettersEvery?: string;
  switchOffAfter?: string;
}

const NEVER = 'never';

export function addAlerts(cli: Cli, program: Command): void {
  const alerts = group(program, 'alerts', 'Manage alerts about destinations in trouble: show, change, test, rotate');
  leaf(
    cli,
    [alerts, 'show'],
    { summary: 'When alerts are raised, and where they are sent', example: 'alerts show' },
    async (session) => show(session, await read(session)),
  );
  leaf<EditOptions>(
    cli,
    [alerts, 'edit'],
    {
      summary: 'Change what is given, and nothing else',
      example: 'alerts edit --webhook https://ops.example.com/waypost --secret-file secret --failing-for 10m',
      options: [
        ...WEBHOOK_EDITS,
        ['--no-webhooks', 'send to nobody: notices alone'],
        ['--failing-for <duration>', 'a destination fails when its failures span so long without a success (30m)'],
        ['--dead-letters-every <duration>', 'at most one alert of dead letters for each destination in so long (1h)'],
        [
          '--switch-off-after <duration>',
          `a destination that fails for so long is switched off, or ${NEVER} (${NEVER})`,
        ],
      ],
      more: 'The list of --webhook takes the place of the whole list before. Headers of a URL that stays are kept.',
    },
    edit,
  );
  for (const [word, summary, enabled] of [
    ['enable', 'Send alerts', true],
    ['disable', 'Send none: notices alone', false],
  ] as const) {
    leaf(cli, [alerts, word], { summary, example: `alerts ${word}` }, (session) => patch(session, { enabled }));
  }
  addSending(cli, alerts);
}

function addSending(cli: Cli, alerts: Command): void {
  leaf(
    cli,
    [alerts, 'test'],
    { summary: 'Send a sample alert; exit code 1 unless it was delivered', example: 'alerts test' },
    async ({ api, print }) => {
      const { data } = await api().call('POST /alerts/test', {});
      showTest(print, data);
      return data.status === 'delivered' ? 0 : FAILED;
    },
  );
  leaf<RotationOptions>(
    cli,
    [alerts, 'rotate-secret'],
    {
      summary: 'Give them a new shared secret; without a file one is made, and shown this once',
      example: 'alerts rotate-secret --overlap 24h > new-secret',
      options: ROTATION_OPTIONS,
    },
    async (session, options) => {
      const body = await rotationOf(session, options);
      showRotated(session, (await session.api().call('POST /alerts/rotate-secret', { body })).data);
    },
  );
}

async function edit(session: Session, options: EditOptions): Promise<void> {
  const { webhooks, failingFor, deadLettersEvery, switchOffAfter } = options;
  if (webhooks === false && options.webhook) throw usage('Give either --webhook or --no-webhooks.');
  const body = {
    ...(await webhookFieldsOf(session, options, await read(session))),
    ...(webhooks === false && { webhooks: [] }),
    ...(failingFor !== undefined && { failingFor }),
    ...(deadLettersEvery !== undefined && { deadLettersEvery }),
    ...(switchOffAfter !== undefined && { switchOffAfter: switchOffAfter === NEVER ? null : switchOffAfter }),
  };
  if (Object.keys(body).length === 0) throw usage('Say what to change: see waypost alerts edit --help.');
  await patch(session, body);
}

async function read({ api }: Session): Promise<Alerts> {
  return (await api().call('GET /alerts', {})).data;
}

async function patch(session: Session, body: Operations['PATCH /alerts']['body']): Promise<void> {
  const ifMatch = `"${String((await read(session)).version)}"`;
  show(session, (await session.api().call('PATCH /alerts', { body, ifMatch })).data);
}

function show({ print }: Session, alerts: Alerts): void {
  const { enabled, webhooks, hasSharedSecret, secretRotation } = alerts;
  print.thing(alerts, [
    ['sent', enabled && webhooks.length > 0 ? 'yes' : 'no: notices alone'],
    ...webhookLines(webhooks),
    ['signed', hasSharedSecret ? 'yes' : 'no'],
    ['rotation', secretRotation ? `both secrets until ${secretRotation.overlapUntil}` : undefined],
    ['failing for', alerts.failingFor],
    ['dead letters every', alerts.deadLettersEvery],
    ['switch off after', alerts.switchOffAfter ?? NEVER],
  ]);
}
