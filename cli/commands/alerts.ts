import { type Alerts, type Operations } from '../../shared/api/operations';
import { defined } from '../../shared/collections/defined';
import { ALERT_FORMATS } from '../../shared/model/config';
import { type Group, type Listed, oneOf, type Session } from '../command';
import { counted } from '../confirm';
import { type Fields, optionsOf, readFields, textField } from '../fields';
import { showTest } from '../output/test';
import { FAILED, usage } from '../process-context';
import {
  receiversOf,
  ROTATION_OPTIONS,
  type RotationOptions,
  rotationOf,
  showRotated,
} from './rotation';
import {
  DROP_SECRETS,
  WEBHOOK_EDITS,
  webhookFieldsOf,
  webhookLines,
  type WebhookOptions,
} from './webhook-fields';

/**
 * `waypost alerts`: when Waypost raises an alert about a destination, and where it sends the alert.
 */

type Change = Operations['PATCH /alerts']['body'];
const NEVER = 'never';

const TIMES: Fields<Change> = {
  failingFor: textField(
    '--failing-for <duration>',
    'time with failures and without a success until a destination counts as failing (30m)',
  ),
  deadLettersEvery: textField(
    '--dead-letters-every <duration>',
    'at most one dead-letter alert per destination in this time (1h)',
  ),
  email: {
    flags: '--email <address...>',
    help: 'addresses that each get every alert by e-mail; replaces the list',
    read: (addresses: string[]) => addresses,
  },
  switchOffAfter: {
    flags: '--switch-off-after <duration>',
    help: `switch a destination off after failing for this long, or ${NEVER} (${NEVER})`,
    read: (text: string) => (text === NEVER ? null : text),
  },
};

interface EditOptions extends WebhookOptions {
  webhooks?: boolean;
  format?: string;
  /** false: --no-email */
  email?: string[] | false;
}

export function addAlerts(program: Group, { syntax, summary }: Listed): void {
  const alerts = program.group(syntax, summary);
  alerts.leaf('show', { summary: 'Show the alert settings', isDefault: true }, async (session) =>
    show(session, await read(session)),
  );
  alerts.leaf<EditOptions>(
    'edit',
    {
      summary: 'Change only the given settings',
      example:
        'alerts edit --webhook https://ops.example.com/waypost --secret-file secret ' +
        '--failing-for 10m',
      options: [
        ...WEBHOOK_EDITS,
        DROP_SECRETS,
        ['--no-webhooks', 'send no alerts to URLs'],
        ['--format <format>', `shape of the body for all URLs: ${ALERT_FORMATS.join(', ')}`],
        ...optionsOf(TIMES),
        ['--no-email', 'send no alerts by e-mail'],
      ],
      more:
        'The --webhook list replaces the whole list. A URL that stays, or gets another path at ' +
        'the same origin, keeps its headers.',
      asks: 'sometimes',
    },
    edit,
  );
  alerts.leaf('enable', { summary: 'Send alerts' }, async (session) =>
    patch(session, await read(session), { enabled: true }),
  );
  alerts.leaf(
    'disable',
    { summary: 'Send no alerts, only notices', asks: 'always' },
    async (session) => {
      await session.confirm(async () => {
        const { webhooks, email } = await read(session);
        return (
          `Disable the alerts? ${counted(webhooks.length, 'URL')} and ` +
          `${counted(email.length, 'address', 'addresses')} get none any more.`
        );
      });
      await patch(session, await read(session), { enabled: false });
    },
  );
  addSending(alerts);
}

function addSending(alerts: Group): void {
  alerts.leaf(
    'test',
    { summary: 'Send a sample alert; exit code 1 unless it is delivered' },
    async ({ api, print }) => {
      const { data } = await api().call('POST /alerts/test', {});
      showTest(print, data);
      return data.status === 'delivered' ? 0 : FAILED;
    },
  );
  alerts.leaf<RotationOptions>(
    'rotate-secret',
    {
      summary: 'Rotate the shared secret; without a file, Waypost generates one and shows it once',
      example: 'alerts rotate-secret --overlap 24h > new-secret',
      options: ROTATION_OPTIONS,
      asks: 'always',
    },
    async (session, options) => {
      await session.confirm(async () => {
        const { webhooks } = await read(session);
        return `Rotate the shared secret of the alerts? ${receiversOf(webhooks, options)}`;
      });
      const body = await rotationOf(session, options);
      showRotated(session, (await session.api().call('POST /alerts/rotate-secret', { body })).data);
    },
  );
}

async function edit(session: Session, options: EditOptions): Promise<void> {
  const { webhooks, email, ...given } = options;
  if (webhooks === false && options.webhook) throw usage('Give either --webhook or --no-webhooks.');
  const before = await read(session);
  const format =
    given.format === undefined ? undefined : oneOf(given.format, '--format', ALERT_FORMATS);
  const urls = before.webhooks.flatMap(({ url }) => url ?? []);
  const all =
    format !== undefined && !given.webhook && webhooks !== false
      ? { ...given, webhook: urls }
      : given;
  const fields = await webhookFieldsOf(session, all, before);
  const body: Change = {
    ...fields,
    ...defined({
      webhooks: fields.webhooks
        ? fields.webhooks.map((webhook) => ({
            ...webhook,
            ...defined({ format }),
          }))
        : undefined,
    }),
    ...defined({ webhooks: webhooks === false ? [] : undefined }),
    ...(await readFields(
      session,
      {
        ...given,
        ...defined({ email: email || undefined }),
      },
      TIMES,
    )),
    ...defined({ email: email === false ? [] : undefined }),
  };
  if (Object.keys(body).length === 0) {
    throw usage('Nothing to change. See waypost alerts edit --help.');
  }
  if (webhooks === false && urls.length > 0) {
    await session.confirm(() => `Remove ${counted(urls.length, 'URL')} of the alerts?`);
  }
  await patch(session, before, body);
}

async function read({ api }: Session): Promise<Alerts> {
  return (await api().call('GET /alerts', {})).data;
}

/** @param before what the change was decided on: a newer one is not overwritten */
async function patch(session: Session, before: Alerts, body: Change): Promise<void> {
  const ifMatch = `"${String(before.version)}"`;
  show(session, (await session.api().call('PATCH /alerts', { body, ifMatch })).data);
}

function show({ print }: Session, alerts: Alerts): void {
  const { enabled, webhooks, hasSharedSecret, secretRotation } = alerts;
  print.thing(alerts, [
    ['sent', enabled && webhooks.length + alerts.email.length > 0 ? 'yes' : 'no, only notices'],
    ...webhookLines(webhooks),
    ['formats', webhooks.length > 0 ? webhooks.map(({ format }) => format).join(', ') : undefined],
    ['e-mail', alerts.email.join(', ') || undefined],
    ['signed', hasSharedSecret ? 'yes' : 'no'],
    ['rotation', secretRotation ? `both secrets until ${secretRotation.overlapUntil}` : undefined],
    ['failing for', alerts.failingFor],
    ['dead letters every', alerts.deadLettersEvery],
    ['switch off after', alerts.switchOffAfter ?? NEVER],
  ]);
}
