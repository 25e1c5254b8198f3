import { type Command } from 'commander';
import { type Operations } from '../../shared/api/operations';
import { type Cli, group, leaf, type Session } from '../command';
import { findAudience } from '../resolve-by-name';
import { usage } from '../process-context';
import { addPreview } from './audience-preview';
import { addUpload } from './audience-upload';
import {
  COMMON_OPTIONS,
  commonFields,
  type CommonOptions,
  CONDITION_OPTIONS,
  conditionOf,
  type ConditionOptions,
  forCreation,
  showDefinition,
} from './definition-fields';
import { addDelete, addReads, AUDIENCES } from './definitions';

/** `waypost audiences`: sets of users that destinations receive. */

type EditOptions = CommonOptions & ConditionOptions;

export function addAudiences(cli: Cli, program: Command): void {
  const audiences = group(program, 'audiences', 'Audiences: list, create, edit, upload');
  addReads(cli, audiences, AUDIENCES);
  leaf<EditOptions & { list?: boolean }>(
    cli,
    [audiences, 'create <name>'],
    {
      summary: 'Create an audience; its trait is the name in snake_case',
      example: `audiences create "Loyal" --condition 'count("Order Completed", duration("720h")) >= 3' --destination "My hook"`,
      options: [...CONDITION_OPTIONS, ['--list', 'no condition; you upload the members'], ...COMMON_OPTIONS],
    },
    create,
  );
  leaf<EditOptions & { name?: string }>(
    cli,
    [audiences, 'edit <audience>'],
    {
      summary: 'Change only the given settings',
      example: 'audiences edit "Loyal" --sync-every 10s --destination "My hook"',
      options: [...CONDITION_OPTIONS, ...COMMON_OPTIONS, ['--name <name>', 'new name; the trait keeps its key']],
      more: 'A new condition or set of sources is counted from the retained messages.',
    },
    edit,
  );
  addPreview(cli, audiences);
  addUpload(cli, audiences);
  addDelete(cli, audiences, AUDIENCES);
}

async function create(session: Session, options: EditOptions & { list?: boolean }, name = ''): Promise<void> {
  const condition = await conditionOf(session, options);
  if ((condition === undefined) !== (options.list ?? false)) {
    throw usage('Give --condition or --condition-file, or --list to upload the members.');
  }
  const body: Operations['POST /audiences']['body'] = {
    name,
    ...(condition !== undefined && { condition }),
    ...forCreation(await commonFields(session, options)),
  };
  showDefinition(session, (await session.api().call('POST /audiences', { body })).data);
}

async function edit(session: Session, options: EditOptions & { name?: string }, given = ''): Promise<void> {
  const condition = await conditionOf(session, options);
  const body: Operations['PATCH /audiences/{id}']['body'] = {
    ...(options.name !== undefined && { name: options.name }),
    ...(condition !== undefined && { condition }),
    ...(await commonFields(session, options)),
  };
  if (Object.keys(body).length === 0) throw usage('Nothing to change. See --help.');
  const { id, version } = await findAudience(session.api(), given);
  const ifMatch = `"${String(version)}"`;
  showDefinition(session, (await session.api().call('PATCH /audiences/{id}', { id, body, ifMatch })).data);
}
