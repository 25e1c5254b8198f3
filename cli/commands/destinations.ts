import { type Command } from 'commander';
import { type Destination } from '../../shared/api/operations';
import { type Cli, group, leaf, type Session } from '../command';
import { allDestinations, findDestination } from '../resolve-by-name';
import { type Column } from '../output/table';
import { addDestinationActions } from './destination-actions';
import { EDITS, type EditOptions, type Fields, fieldsOf } from './destination-fields';
import { webhookLines } from './webhook-fields';

/** `waypost destinations`: the receivers of calls. */

const COLUMNS: Column<Destination>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'STATE', of: stateOf },
  { title: 'SOURCES', of: ({ sources }) => sources.length, right: true },
  { title: 'SIGNED', of: ({ hasSharedSecret }) => (hasSharedSecret ? 'yes' : 'no') },
  { title: 'URLS', of: ({ webhooks }) => webhooks.map(({ url }) => url ?? 'lost').join(' ') },
];

export function addDestinations(cli: Cli, program: Command): void {
  const destinations = group(program, 'destinations', 'Destinations: list, create, edit, test, rotate');
  leaf(
    cli,
    [destinations, 'list'],
    { summary: 'List destinations', example: 'destinations list' },
    async ({ api, print }) => {
      print.rows(COLUMNS, await allDestinations(api()), 'No destinations yet. See waypost destinations create --help');
    },
  );
  leaf(
    cli,
    [destinations, 'show <destination>'],
    { summary: 'Show one destination', example: 'destinations show "My hook"' },
    async (session, _, id = '') => showDestination(session, await findDestination(session.api(), id)),
  );
  addMaking(cli, destinations);
  addSwitches(cli, destinations);
  addDestinationActions(cli, destinations);
}

function addMaking(cli: Cli, destinations: Command): void {
  leaf<EditOptions & { enable?: boolean }>(
    cli,
    [destinations, 'create <name>'],
    {
      summary: 'Create a destination, disabled unless --enable is given',
      example: 'destinations create "My hook" --source "My site" --webhook https://example.com/hook --enable',
      options: [...EDITS, ['--enable', 'enable it immediately']],
    },
    async (session, options, name = '') => {
      const fields = await fieldsOf(session, options);
      const { sources = [], webhooks = [], types, ...rest } = fields;
      // At creation null means the same as an absent field.
      const { sharedSecret, maxPerSecond } = rest;
      const body = {
        ...{ name, type: 'webhooks' as const, sources, webhooks, enabled: options.enable ?? false },
        ...(sharedSecret != null && { sharedSecret }),
        ...(maxPerSecond != null && { maxPerSecond }),
        ...(types && { types }),
      };
      showDestination(session, (await session.api().call('POST /destinations', { body })).data);
    },
  );
  leaf<EditOptions & { name?: string }>(
    cli,
    [destinations, 'edit <destination>'],
    {
      summary: 'Change only the given settings',
      example: 'destinations edit "My hook" --max-per-second 50',
      options: [...EDITS, ['--name <name>', 'new name']],
      more: 'A list (--source, --webhook, --types) replaces the whole list. A URL that stays keeps its headers.',
    },
    async (session, options, given = '') => {
      const before = await findDestination(session.api(), given);
      const body: Fields & { name?: string } = await fieldsOf(session, options, before);
      if (options.name !== undefined) body.name = options.name;
      await patch(session, before, body);
    },
  );
}

function addSwitches(cli: Cli, destinations: Command): void {
  const switches: [word: string, summary: string, body: { enabled?: boolean; paused?: boolean }][] = [
    ['enable', 'Enable a destination', { enabled: true }],
    ['disable', 'Disable a destination and cancel its waiting deliveries', { enabled: false }],
    ['pause', 'Pause a destination; deliveries wait, within their window', { paused: true }],
    ['resume', 'Resume a paused destination', { paused: false }],
  ];
  for (const [word, summary, body] of switches) {
    leaf(
      cli,
      [destinations, `${word} <destination>`],
      { summary, example: `destinations ${word} "My hook"` },
      async (session, _, name = '') => patch(session, await findDestination(session.api(), name), body),
    );
  }
}

async function patch(
  session: Session,
  { id, version }: Destination,
  body: Fields & { name?: string; enabled?: boolean; paused?: boolean },
): Promise<void> {
  const ifMatch = `"${String(version)}"`;
  showDestination(session, (await session.api().call('PATCH /destinations/{id}', { id, body, ifMatch })).data);
}

function stateOf({ enabled, paused }: Destination): string {
  if (!enabled) return 'off';
  return paused ? 'paused' : 'on';
}

function showDestination({ print }: Session, destination: Destination): void {
  const { id, name, sources, webhooks, types, filter, maxPerSecond, hasSharedSecret, secretRotation } = destination;
  print.thing(destination, [
    ['id', id],
    ['name', name],
    ['state', stateOf(destination)],
    ['sources', sources.join(' ')],
    ...webhookLines(webhooks),
    ['types', types?.join(' ') ?? 'all'],
    ['filter', filter ?? undefined],
    ['a second', maxPerSecond ?? 'no limit'],
    ['signed', hasSharedSecret ? 'yes' : 'no'],
    ['rotation', secretRotation ? `both secrets until ${secretRotation.overlapUntil}` : undefined],
  ]);
}
