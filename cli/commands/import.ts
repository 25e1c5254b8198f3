import { defined } from '../../shared/collections/defined';
import { printable } from '../../shared/runtime/printable';
import { type Group, type Listed, type Session } from '../command';
import { type Api } from '../connect/api';
import { requireTerminal } from '../confirm';
import { allSettings, deleteEntry, find, type NamedKind } from '../entries';
import { bad, type Paint, doubtful, good, plain } from '../output/paint';
import { readInput } from '../secret-input';
import { type DefinitionStep } from '../export-file/definitions';
import { type Removal, type Step } from '../export-file/plan';
import { FAILED, usage } from '../process-context';

/** `waypost import`: applies a configuration file. */

interface ImportOptions {
  secretsFile?: string;
  withoutSecrets?: boolean;
  dryRun?: boolean;
  replace?: boolean;
  yes?: boolean;
}

export function addImport(program: Group, { syntax, summary }: Listed): void {
  program.leaf<ImportOptions>(
    syntax,
    {
      summary,
      example: 'import waypost.json --secrets-file secrets.json --dry-run',
      options: [
        [
          '--secrets-file <file>',
          '{"My hook": {"sharedSecret": "…", "headers": {"Authorization": "…"}, "auth": ' +
            '{"token": "…"}, "tls": {"key": "…"}}}; - for standard input',
        ],
        [
          '--without-secrets',
          'create destinations without secrets if none are given, and disable them',
        ],
        ['--replace', 'also delete the entries that are not in the file'],
        ['--dry-run', 'show the changes without making them'],
      ],
      asks: 'sometimes',
      more:
        'Entries are matched by name, audiences and computed traits by their key. Without --replace, entries that are not in the\n' +
        'file stay. New sources get new write keys. A second import of the same file changes nothing, except that the secrets of\n' +
        '--secrets-file are written again: nobody can read what is stored.',
    },
    bringIn,
  );
}

async function bringIn(session: Session, options: ImportOptions, name = ''): Promise<number> {
  const { world, print } = session;
  const { secretsFile, withoutSecrets = false, dryRun = false, replace = false } = options;
  if (replace && !dryRun && !options.yes) requireTerminal(world);
  if (name === '-' && secretsFile === '-') {
    throw usage('The file and the secrets cannot both come from standard input.');
  }
  const { parseFile, parseSecrets } = await import('../export-file/format');
  const { endingsOf, planImport, planRemovals } = await import('../export-file/plan');
  const file = parseFile(await readInput(world, name));
  const secrets =
    secretsFile === undefined ? {} : parseSecrets(await readInput(world, secretsFile));
  const api = session.api();
  const present = await allSettings(api);
  const { steps: wanted, faults } = planImport(file, present, secrets, withoutSecrets);
  const removals = replace ? planRemovals(file, present) : [];
  const steps = [...wanted, ...removals];
  if (faults.length > 0) {
    print.note(`Nothing was changed:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    return FAILED;
  }
  if (!dryRun) {
    const endings = endingsOf(steps, present);
    if (removals.length + endings.length > 0) {
      await session.confirm(() => importQuestion(removals, endings, api));
    }
    const ids = {
      sources: idsByName(present.sources),
      destinations: idsByName(present.destinations),
    };
    for (const step of steps) await perform(api, step, ids);
  }
  print.rows(
    [
      {
        title: 'WHAT',
        of: ({ act }) => (dryRun ? `would ${act}` : DONE[act]),
        paint: ({ act }) => PAINTS[act],
      },
      { title: 'KIND', of: ({ kind }) => kind },
      { title: 'NAME', of: ({ name: named }) => named },
    ],
    // The JSON output omits the body: it may hold secrets.
    steps.map(({ act, kind, name: named }) => ({ act, kind, name: named, dryRun })),
    'The file is empty.',
  );
  return 0;
}

function importQuestion(
  removals: readonly Removal[],
  endings: readonly string[],
  { installation }: Api,
): string {
  const lines = [
    ...removals.map(({ kind, name }) => `delete ${kind} "${name}", with what waits there`),
    ...endings,
  ];
  return `Change ${installation.url}? Among other things this would\n  ${lines.map(printable).join('\n  ')}\n`;
}

const DONE = { create: 'created', change: 'changed', keep: 'kept', delete: 'deleted' };
const PAINTS: Record<Step['act'], Paint> = {
  create: good,
  change: doubtful,
  keep: plain,
  delete: bad,
};

/** Ids by name, including newly created entries. */
interface Ids {
  sources: Map<string, string>;
  destinations: Map<string, string>;
}

function idsByName(all: { id: string; name: string }[]): Map<string, string> {
  return new Map(all.map(({ id, name }) => [name, id]));
}

async function perform(api: Api, step: Step, ids: Ids): Promise<void> {
  if (step.act === 'keep') return;
  if (step.act === 'delete') {
    // An earlier step may have changed it.
    return deleteEntry(api, step.kind, await find<NamedKind>(api, step.kind, step.id));
  }
  if (step.kind === 'source') {
    const { name, body } = step;
    if (step.act === 'change') await api.call('PATCH /sources/{id}', { id: step.id, body });
    else {
      ids.sources.set(name, (await api.call('POST /sources', { body: { name, ...body } })).data.id);
    }
    return;
  }
  if (step.kind !== 'destination') return performDefinition(api, step, ids);
  const sources = step.sources.flatMap((name) => ids.sources.get(name) ?? []);
  if (step.act === 'create') {
    const made = await api.call('POST /destinations', { body: { ...step.body, sources } });
    ids.destinations.set(step.name, made.data.id);
  } else {
    const body = { ...step.body, sources: [...sources, ...step.telling] };
    await api.call('PATCH /destinations/{id}', { id: step.id, body });
  }
}

async function performDefinition(
  api: Api,
  step: Exclude<DefinitionStep, { act: 'keep' }>,
  ids: Ids,
): Promise<void> {
  const sources = step.sources?.flatMap((name) => ids.sources.get(name) ?? []) ?? null;
  const destinations = step.destinations.flatMap((name) => ids.destinations.get(name) ?? []);
  if (step.act === 'change') {
    const { id, name } = step;
    if (step.kind === 'audience') {
      await api.call('PATCH /audiences/{id}', {
        id,
        body: { ...step.body, name, sources, destinations },
      });
    } else {
      await api.call('PATCH /computed-traits/{id}', {
        id,
        body: { ...step.body, name, sources, destinations },
      });
    }
    return;
  }
  const to = {
    destinations,
    ...defined({ sources: sources || undefined }),
  };
  const { name } = step;
  if (step.kind === 'audience') {
    const { id } = (await api.call('POST /audiences', { body: { ...step.body, ...to } })).data;
    if (step.rename) await api.call('PATCH /audiences/{id}', { id, body: { name } });
  } else {
    const { id } = (await api.call('POST /computed-traits', { body: { ...step.body, ...to } }))
      .data;
    if (step.rename) await api.call('PATCH /computed-traits/{id}', { id, body: { name } });
  }
}
