import { objectOf } from './send';
import { type Destination, type Operations } from '../../shared/api/operations';
import { defined } from '../../shared/collections/defined';
import { GENERATE_SECRET } from '../../shared/model/config';
import { addressWarning } from '../../shared/model/address-warning';
import { CALL_TYPES, type JsonObject } from '../../shared/model/message';
import { printable } from '../../shared/runtime/printable';
import { type Group, type Listed, oneOf, type Session } from '../command';
import { find, type Patch, patchEntry } from '../entries';
import { type Fields, idsField, optionsOf, readFields, textField, withoutNulls } from '../fields';
import { readList } from '../connect/api';
import { waitingThere } from '../consequences';
import { columnsWithHealth, stateOf } from '../output/destinations';
import { showTest } from '../output/test';
import { FAILED, usage } from '../process-context';
import { readInput } from '../secret-input';
import { addDelete, addList, addShow, named } from '../resource';
import {
  DELIVERY_EDITS,
  deliveryFieldsOf,
  deliveryLines,
  type DeliveryOptions,
} from './delivery-options';
import {
  SIGNATURE_EDITS,
  signatureFieldsOf,
  signatureLines,
  type SignatureOptions,
} from './endpoint-auth';
import { PLAIN_OPTIONS, plainLines } from './plain-fields';
import {
  REQUEST_EDITS,
  requestFieldsOf,
  requestLines,
  type RequestOptions,
} from './request-fields';
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
  webhookIdOf,
  webhookLines,
  type WebhookOptions,
} from './webhook-fields';

/** `waypost destinations`: the receivers of calls. */

type Change = Patch<'destination'>;

const SOURCES: Fields<Change> = {
  sources: idsField('--source <source...>', 'source', 'connected sources, by id or name'),
};
const NAME: Fields<Change> = { name: textField('--name <name>', 'new name') };
const EDITS = [
  ...optionsOf(SOURCES),
  ...WEBHOOK_EDITS,
  ...SIGNATURE_EDITS,
  ...optionsOf(PLAIN_OPTIONS),
  ...REQUEST_EDITS,
  ...DELIVERY_EDITS,
];
type EditOptions = WebhookOptions & SignatureOptions & RequestOptions & DeliveryOptions;

export function addDestinations(program: Group, { syntax, summary }: Listed): void {
  const destinations = program.group(syntax, summary);
  addList(destinations, 'list', {
    from: 'GET /destinations',
    summary: 'List destinations',
    columns: columnsWithHealth,
    empty: 'No destinations yet. See waypost destinations create --help',
  });
  addShow(destinations, 'destination', { summary: 'Show one destination', show });
  addChanges(destinations);
  addActions(destinations);
  addKeys(destinations);
  addDelete(destinations, 'destination', {
    summary: 'Delete a destination and cancel its waiting deliveries',
    consequence: async ({ id }, session) =>
      `This cancels what waits for it. ${await waitingThere(session, id)}`,
  });
}

function addChanges(destinations: Group): void {
  destinations.leaf<EditOptions & { enable?: boolean; generateSecret?: boolean }>(
    'create <name>',
    {
      summary: 'Create a destination, disabled unless --enable is given',
      example:
        'destinations create "My hook" --source "My site" --webhook ' +
        'https://example.com/hook --enable',
      options: [
        ...EDITS,
        ['--generate-secret', 'let Waypost make the shared secret; it is shown once'],
        ['--enable', 'enable it immediately'],
      ],
    },
    async (session, options, name = '') => {
      const {
        sources = [],
        webhooks = [],
        ...rest
      } = withoutNulls(await fieldsOf(session, options));
      const { enable: enabled = false, generateSecret = false } = options;
      const body: Operations['POST /destinations']['body'] = {
        name,
        type: 'webhooks',
        sources,
        webhooks,
        enabled,
        ...rest,
      };
      if (generateSecret && body.sharedSecret !== undefined) {
        throw usage('Give a secret, or --generate-secret.');
      }
      if (generateSecret) body.sharedSecret = GENERATE_SECRET;
      await warnOf(session, webhooks);
      const { data } = await session.api().call('POST /destinations', { body });
      show(session, data, [['shared secret', data.sharedSecret]]);
    },
  );
  destinations.leaf<EditOptions>(
    'edit <destination>',
    {
      summary: 'Change only the given settings',
      example: 'destinations edit "My hook" --max-per-second 50',
      options: [...EDITS, DROP_SECRETS, ...optionsOf(NAME)],
      more:
        'A list (--source, --webhook, --types) replaces the whole list; the sources of audiences and ' +
        'traits stay. A URL that stays, or gets another path\nat the same origin, keeps its ' +
        'headers, authentication and TLS settings.',
      asks: 'sometimes',
    },
    async (session, options, given = '') => {
      const before = await find(session.api(), 'destination', given);
      const body = {
        ...(await fieldsOf(session, options, before)),
        ...(await readFields(session, options, NAME)),
      };
      await warnOf(session, body.webhooks ?? []);
      show(session, await patchEntry(session.api(), 'destination', before, body));
    },
  );
  addWebhookSwitches(destinations);
  for (const [word, summary, body, question] of [
    ['enable', 'Enable a destination', { enabled: true }, undefined],
    [
      'disable',
      'Disable a destination and cancel its waiting deliveries',
      { enabled: false },
      (which: string) => `Disable ${which}? This cancels what waits for it.`,
    ],
    [
      'pause',
      'Pause a destination; deliveries wait, within their window',
      { paused: true },
      (which: string) => `Pause ${which}? Its deliveries wait until it is resumed.`,
    ],
    ['resume', 'Resume a paused destination', { paused: false }, undefined],
  ] as const) {
    const about = { summary, ...defined({ asks: question && ('always' as const) }) };
    destinations.leaf(`${word} <destination>`, about, async (session, _, given = '') => {
      const before = await find(session.api(), 'destination', given);
      if (question) {
        const which = named('destination', before);
        await session.confirm(
          async () => `${question(which)} ${await waitingThere(session, before.id)}`,
        );
      }
      show(session, await patchEntry(session.api(), 'destination', before, body));
    });
  }
}

function addWebhookSwitches(destinations: Group): void {
  destinations.leaf(
    'enable-webhook <destination> <webhook>',
    {
      summary: 'Switch a URL on again, and show what died while it was off',
      example: 'destinations enable-webhook "My hook" https://example.com/hook',
      more: 'Give the URL, or the id that destinations show --json has.',
    },
    async ({ api, print }, _, given = '', webhook = '') => {
      const destination = await find(api(), 'destination', given);
      const { id } = destination;
      const body = { webhook: webhookIdOf(destination, webhook) };
      const { data } = await api().call('POST /destinations/{id}/enable-webhook', { id, body });
      const { lostSince, count } = data;
      print.thing(data, [
        ['webhook', body.webhook],
        ['dead', count ?? 'unknown: the history is away'],
        ['dead since', lostSince ?? undefined],
      ]);
      if (lostSince === null || count === 0) return;
      print.note(
        `To send again all that died since then: waypost replay all --destination ${id} --status dead --since ` +
          lostSince,
      );
    },
  );
  destinations.leaf(
    'disable-webhook <destination> <webhook>',
    {
      summary: 'Switch a URL off; its other URLs go on',
      example: 'destinations disable-webhook "My hook" https://example.com/hook',
      more: 'Give the URL, or the id that destinations show --json has.',
      asks: 'always',
    },
    async (session, _, given = '', webhook = '') => {
      const destination = await find(session.api(), 'destination', given);
      const { id } = destination;
      const body = { webhook: webhookIdOf(destination, webhook) };
      await session.confirm(
        async () =>
          `Switch off ${printable(webhook)} of ${named('destination', destination)}? What only ` +
          `it could take ends dead. ${await waitingThere(session, id)}`,
      );
      show(
        session,
        (await session.api().call('POST /destinations/{id}/disable-webhook', { id, body })).data,
      );
    },
  );
}

/** @throws CliError */
async function fieldsOf(
  session: Session,
  options: EditOptions,
  before?: Destination,
): Promise<Change> {
  return {
    ...(await sourcesOf(session, options, before)),
    ...(await webhookFieldsOf(session, options, before)),
    ...signatureFieldsOf(options),
    ...(await readFields(session, options, PLAIN_OPTIONS)),
    ...(await requestFieldsOf(session, options, before)),
    ...(await deliveryFieldsOf(session, options)),
  };
}

/** The sources of audiences and computed traits stay: their own commands disconnect them. */
async function sourcesOf(
  session: Session,
  options: EditOptions,
  before: Destination | undefined,
): Promise<Change> {
  const { sources } = await readFields(session, options, SOURCES);
  if (!sources) return {};
  const api = session.api();
  const definitions = before
    ? [
        ...(await readList(api, 'GET /audiences', {})),
        ...(await readList(api, 'GET /computed-traits', {})),
      ]
    : [];
  const own = definitions.filter(({ source }) => before?.sources.includes(source));
  return { sources: [...new Set([...sources, ...own.map(({ source }) => source)])] };
}

/** Warns of URLs that delivery will refuse to call. */
async function warnOf(
  { api, print }: Session,
  webhooks: readonly { url: string }[],
): Promise<void> {
  if (webhooks.length === 0) return;
  const { networks } = (await api().call('GET /about', {})).data;
  for (const { url } of webhooks) {
    const warning = addressWarning(url, networks);
    if (warning !== undefined) print.note(`Warning: ${warning}`);
  }
}

function addActions(destinations: Group): void {
  destinations.leaf<{ type?: string }>(
    'test <destination>',
    {
      summary: 'Send a sample through the pipeline; exit code 1 unless it is delivered',
      example: 'destinations test "My hook" --type identify',
      options: [['--type <type>', `type of the sample (default track): ${CALL_TYPES.join(', ')}`]],
    },
    async (session, options, name = '') => {
      const type = oneOf(options.type ?? 'track', '--type', CALL_TYPES);
      const { id } = await find(session.api(), 'destination', name);
      const { data } = await session
        .api()
        .call('POST /destinations/{id}/test', { id, body: { type } });
      showTest(session.print, data);
      return data.status === 'delivered' ? 0 : FAILED;
    },
  );
  destinations.leaf<{ event?: string; message?: string }>(
    'preview <destination>',
    {
      summary: 'Show the request to a destination for an event or a message; nothing is sent',
      example: 'destinations preview "My hook" --event EVENT',
      options: [
        ['--event <id>', 'an accepted event, by its id in waypost tail --json'],
        ['--message <file>', 'a message as JSON; - for standard input'],
      ],
    },
    async ({ api, print, world }, options, name = '') => {
      const { id: destination } = await find(api(), 'destination', name);
      const { event, message: file } = options;
      const message =
        file === undefined
          ? undefined
          : (objectOf(await readInput(world, file), '--message') as JsonObject);
      const body = {
        destination,
        ...defined({
          event,
          message,
        }),
      };
      const { data } = await api().call('POST /destinations/preview', { body });
      print.thing(data, [
        ['method', data.method],
        ...Object.entries(data.headers).map(([header, value]): [string, string] => [
          'header',
          `${header}: ${value}`,
        ]),
        ['body', data.body],
      ]);
    },
  );
}

function addKeys(destinations: Group): void {
  destinations.leaf(
    'public-keys <destination>',
    { summary: 'Show the public keys that verify the Ed25519 signatures of a destination' },
    async ({ api, print }, _, name = '') => {
      const { id } = await find(api(), 'destination', name);
      const { data } = await api().call('GET /destinations/{id}/public-keys', { id });
      print.rows(
        [
          { title: 'KEY', of: ({ key }) => key },
          { title: 'CREATED', of: ({ createdAt }) => createdAt },
          { title: 'UNTIL', of: ({ until }) => until ?? undefined },
        ],
        data.data,
        'No keys.',
      );
    },
  );
  destinations.leaf<RotationOptions & { ed25519?: boolean }>(
    'rotate-secret <destination>',
    {
      summary: 'Rotate the shared secret; without a file, Waypost generates one and shows it once',
      example: 'destinations rotate-secret "My hook" --overlap 24h > new-secret',
      options: [...ROTATION_OPTIONS, ['--ed25519', 'rotate the Ed25519 key instead']],
      asks: 'always',
    },
    async (session, options, name = '') => {
      const destination = await find(session.api(), 'destination', name);
      const { id, webhooks } = destination;
      await session.confirm(
        () =>
          `Rotate the ${options.ed25519 ? 'Ed25519 key' : 'shared secret'} of ` +
          `${named('destination', destination)}? ${receiversOf(webhooks, options)}`,
      );
      const body = {
        ...(await rotationOf(session, options)),
        ...defined({ key: options.ed25519 ? ('ed25519' as const) : undefined }),
      };
      const { data } = await session
        .api()
        .call('POST /destinations/{id}/rotate-secret', { id, body });
      showRotated(session, data, options.ed25519);
    },
  );
}

/** @param more further lines */
function show(
  { print }: Session,
  destination: Destination,
  more: readonly [string, string | undefined][] = [],
): void {
  const { id, name, sources, webhooks, hasSharedSecret, secretRotation } = destination;
  print.thing(destination, [
    ['id', id],
    ['name', name],
    ['state', stateOf(destination)],
    ['sources', sources.join(' ')],
    ...webhookLines(webhooks),
    ...plainLines(destination),
    ...requestLines(destination),
    ...deliveryLines(destination),
    ['signed', hasSharedSecret ? 'yes' : 'no'],
    ...signatureLines(destination),
    ['rotation', secretRotation ? `both secrets until ${secretRotation.overlapUntil}` : undefined],
    ...more,
  ]);
}
