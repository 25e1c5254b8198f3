import { COMPUTES } from '../../shared/model/audience-definition';
import { type Group, type Listed, type Session } from '../command';
import { find, type Patch, patchEntry } from '../entries';
import {
  choiceField,
  type Fields,
  optionsOf,
  readFields,
  textField,
  withoutNulls,
} from '../fields';
import { usage } from '../process-context';
import {
  addDeletion,
  addReads,
  COMMON_OPTIONS,
  commonFields,
  type CommonOptions,
  showDefinition,
} from './definitions';

/** `waypost traits`: values computed for each user from their events. */

const VALUE: Fields<Patch<'trait'>> = {
  compute: choiceField('--compute <what>', COMPUTES),
  event: textField('--event <name>', 'name of the track event'),
  property: {
    flags: '--property <name>',
    help: 'property to aggregate, a.b for nested. "" for none',
    read: (text: string) => text || null,
  },
  window: {
    flags: '--window <duration>',
    help: 'how far back events count, such as 720h or 30d. "" for all events',
    read: (text: string) => text || null,
  },
};
const NAME: Fields<Patch<'trait'>> = {
  name: textField('--name <name>', 'new name; the key stays'),
};
const EDITS = [...optionsOf(VALUE), ...COMMON_OPTIONS];

export function addTraits(program: Group, { syntax, summary }: Listed): void {
  const traits = program.group(syntax, summary);
  addReads(traits, 'trait');
  traits.leaf<CommonOptions>(
    'create <name>',
    {
      summary: 'Create a computed trait; its key is the name in snake_case',
      example:
        'traits create "Spent" --compute sum --event "Order Completed" --property total ' +
        '--window 30d',
      options: EDITS,
    },
    create,
  );
  traits.leaf<CommonOptions>(
    'edit <trait>',
    {
      summary: 'Change only the given settings',
      example: 'traits edit "Spent" --window 90d',
      options: [...EDITS, ...optionsOf(NAME)],
      more: 'A new value, event, window or set of sources is counted from the retained messages.',
    },
    edit,
  );
  addDeletion(traits, 'trait');
}

async function create(session: Session, options: CommonOptions, name = ''): Promise<void> {
  const { compute, event, ...rest } = withoutNulls(await readFields(session, options, VALUE));
  if (compute === undefined || event === undefined) {
    throw usage('--compute and --event are required.');
  }
  const body = {
    name,
    compute,
    event,
    ...rest,
    ...withoutNulls(await commonFields(session, options)),
  };
  showDefinition(session, (await session.api().call('POST /computed-traits', { body })).data);
}

async function edit(session: Session, options: CommonOptions, given = ''): Promise<void> {
  const body = {
    ...(await readFields(session, options, { ...VALUE, ...NAME })),
    ...(await commonFields(session, options)),
  };
  if (Object.keys(body).length === 0) throw usage('Nothing to change. See --help.');
  const before = await find(session.api(), 'trait', given);
  showDefinition(session, await patchEntry(session.api(), 'trait', before, body));
}
