import { type Operations } from '../../shared/api/operations';
import { defined } from '../../shared/collections/defined';
import { type Group, type Listed, type Session } from '../command';
import { find, patchEntry } from '../entries';
import { withoutNulls } from '../fields';
import { usage } from '../process-context';
import { addPreview } from './audience-preview';
import { addUpload } from './audience-upload';
import {
  addDeletion,
  addReads,
  COMMON_OPTIONS,
  commonFields,
  type CommonOptions,
  CONDITION_OPTIONS,
  conditionOf,
  type ConditionOptions,
  showDefinition,
} from './definitions';

/** `waypost audiences`: sets of users that destinations receive. */

type EditOptions = CommonOptions & ConditionOptions;

export function addAudiences(program: Group, { syntax, summary }: Listed): void {
  const audiences = program.group(syntax, summary);
  addReads(audiences, 'audience');
  audiences.leaf<EditOptions & { list?: boolean }>(
    'create <name>',
    {
      summary: 'Create an audience; its trait is the name in snake_case',
      example:
        `audiences create "Loyal" --condition 'count("Order Completed", duration("720h")) >= ` +
        `3' --destination "My hook"`,
      options: [
        ...CONDITION_OPTIONS,
        ['--list', 'no condition; you upload the members'],
        ...COMMON_OPTIONS,
      ],
    },
    create,
  );
  audiences.leaf<EditOptions & { name?: string }>(
    'edit <audience>',
    {
      summary: 'Change only the given settings',
      example: 'audiences edit "Loyal" --sync-every 10s --destination "My hook"',
      options: [
        ...CONDITION_OPTIONS,
        ...COMMON_OPTIONS,
        ['--name <name>', 'new name; the trait keeps its key'],
      ],
      more: 'A new condition or set of sources is counted from the retained messages.',
    },
    edit,
  );
  addPreview(audiences);
  addUpload(audiences);
  addDeletion(audiences, 'audience');
}

async function create(
  session: Session,
  options: EditOptions & { list?: boolean },
  name = '',
): Promise<void> {
  const condition = await conditionOf(session, options);
  if ((condition === undefined) !== (options.list ?? false)) {
    throw usage('Give --condition or --condition-file, or --list to upload the members.');
  }
  const body: Operations['POST /audiences']['body'] = {
    name,
    ...defined({ condition }),
    ...withoutNulls(await commonFields(session, options)),
  };
  showDefinition(session, (await session.api().call('POST /audiences', { body })).data);
}

async function edit(
  session: Session,
  options: EditOptions & { name?: string },
  given = '',
): Promise<void> {
  const condition = await conditionOf(session, options);
  const body = {
    ...defined({
      name: options.name,
      condition,
    }),
    ...(await commonFields(session, options)),
  };
  if (Object.keys(body).length === 0) throw usage('Nothing to change. See --help.');
  const before = await find(session.api(), 'audience', given);
  showDefinition(session, await patchEntry(session.api(), 'audience', before, body));
}
