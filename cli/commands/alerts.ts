import { type Command } from 'commander';
import { type Alerts, type Operations } from '../../shared/api/operations';
import { type Cli, group, leaf, type Session } from '../command';
import { showTest } from '../output/test';
import { FAILED, usage } from '../process-context';
import { ROTATION_OPTIONS, type RotationOptions, rotationOf, showRotated } from './rotation';
import { WEBHOOK_EDITS, webhookFieldsOf, webhookLines, type WebhookOptions } from './webhook-fields';

/** `waypost alerts`: when Waypost raises an alert about a destination, and where it sends the alert. */

interface EditOptions extends WebhookOptions {
  webhooks?: boolean;
  failingFor?: string;
  deadLettersEvery?: string;
  switchOffAfter?: string;
}

const NEVER = 'never';

export function addAlerts(cli: Cli, program: Command): void {
  const alerts = group(program, 'alerts', 'Alerts about failing destinations: show, edit, test, rotate');
  leaf(cli, [alerts, 'show'], { summary: 'Show the alert settings', example: 'alerts show' }, async (session) =>
    show(session, await read(session)),
  );
  leaf<EditOptions>(
    cli,
    [alerts, 'edit'],
    {
      summary: 'Change only the given settings',
      example: 'alerts edit --webhook https://ops.example.com/waypost --secret-file secret --failing-for 10m',
      options: [
        ...WEBHOOK_EDITS,
        ['--no-webhooks', 'send no alerts, only notices'],
        [
          '--failing-for <duration>',
          'time with failures and without a success until a destination counts as failing (30m)',
        ],
        ['--dead-letters-every <duration>', 'at most one dead-letter alert per destination in this time (1h)'],
        [
          '--switch-off-after <duration>',
          `switch a destination off after failing for this long, or ${NEVER} (${NEVER})`,
        ],
      ],
      more: 'The --webhook list replaces the whole list. A URL that stays keeps its headers.',
    },
    edit,
  );
  for (const [word, summary, enabled] of [
    ['enable', 'Send alerts', true],
    ['disable', 'Send no alerts, only notices', false],
  ] as const) {
    leaf(cli, [alerts, word], { summary, example: `alerts ${word}` }, (session) => patch(session, { enabled }));
  }
  addSending(cli, alerts);
}

function addSending(cli: Cli, alerts: Command): void {
  leaf(
    cli,
    [alerts, 'test'],
    { summary: 'Send a sample alert; exit code 1 unless it is delivered', example: 'alerts test' },
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
      summary: 'Rotate the shared secret; without a file, Waypost generates one and shows it once',
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
  if (Object.keys(body).length === 0) throw usage('Nothing to change. See waypost alerts edit --help.');
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
    ['sent', enabled && webhooks.length > 0 ? 'yes' : 'no, only notices'],
    ...webhookLines(webhooks),
    ['signed', hasSharedSecret ? 'yes' : 'no'],
    ['rotation', secretRotation ? `both secrets until ${secretRotation.overlapUntil}` : undefined],
    ['failing for', alerts.failingFor],
    ['dead letters every', alerts.deadLettersEvery],
    ['switch off after', alerts.switchOffAfter ?? NEVER],
  ]);
}
