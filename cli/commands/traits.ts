import { type Command } from 'commander';
import { type Operations } from '../../shared/api/operations';
import { COMPUTES } from '../../shared/model/audience-definition';
import { type Cli, group, leaf, oneOf, type Session } from '../command';
import { findTrait } from '../resolve-by-name';
import { usage } from '../process-context';
import { COMMON_OPTIONS, commonFields, type CommonOptions, forCreation, showDefinition } from './definition-fields';
import { addDelete, addReads, TRAITS } from './definitions';

/** `waypost traits`: values computed for each user from their events. */

interface EditOptions extends CommonOptions {
  compute?: string;
  event?: string;
  property?: string;
  window?: string;
}

const EDITS: [string, string][] = [
  ['--compute <what>', COMPUTES.join(', ')],
  ['--event <name>', 'name of the track event'],
  ['--property <name>', 'property to aggregate, a.b for nested. "" for none'],
  ['--window <duration>', 'how far back events count, such as 720h or 30d. "" for all events'],
  ...COMMON_OPTIONS,
];

export function addTraits(cli: Cli, program: Command): void {
  const traits = group(program, 'traits', 'Computed traits: list, create, edit');
  addReads(cli, traits, TRAITS);
  leaf<EditOptions>(
    cli,
    [traits, 'create <name>'],
    {
      summary: 'Create a computed trait; its key is the name in snake_case',
      example: 'traits create "Spent" --compute sum --event "Order Completed" --property total --window 30d',
      options: EDITS,
    },
    create,
  );
  leaf<EditOptions & { name?: string }>(
    cli,
    [traits, 'edit <trait>'],
    {
      summary: 'Change only the given settings',
      example: 'traits edit "Spent" --window 90d',
      options: [...EDITS, ['--name <name>', 'new name; the key stays']],
      more: 'A new value, event, window or set of sources is counted from the retained messages.',
    },
    edit,
  );
  addDelete(cli, traits, TRAITS);
}

async function create(session: Session, options: EditOptions, name = ''): Promise<void> {
  const { compute, event, property, window } = options;
  if (compute === undefined || event === undefined) throw usage('--compute and --event are required.');
  const body: Operations['POST /computed-traits']['body'] = {
    ...{ name, compute: oneOf(compute, '--compute', COMPUTES), event },
    ...(property !== undefined && property !== '' && { property }),
    ...(window !== undefined && window !== '' && { window }),
    ...forCreation(await commonFields(session, options)),
  };
  showDefinition(session, (await session.api().call('POST /computed-traits', { body })).data);
}

async function edit(session: Session, options: EditOptions & { name?: string }, given = ''): Promise<void> {
  const { compute, event, property, window, name } = options;
  const body: Operations['PATCH /computed-traits/{id}']['body'] = {
    ...(name !== undefined && { name }),
    ...(compute !== undefined && { compute: oneOf(compute, '--compute', COMPUTES) }),
    ...(event !== undefined && { event }),
    ...(property !== undefined && { property: property || null }),
    ...(window !== undefined && { window: window || null }),
    ...(await commonFields(session, options)),
  };
  if (Object.keys(body).length === 0) throw usage('Nothing to change. See --help.');
  const { id, version } = await findTrait(session.api(), given);
  const ifMatch = `"${String(version)}"`;
  showDefinition(session, (await session.api().call('PATCH /computed-traits/{id}', { id, body, ifMatch })).data);
}
