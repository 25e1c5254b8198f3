import { printableJson } from '../../shared/runtime/printable';
import { type Group, type Listed } from '../command';
import { writeOut } from '../connect/files';
import { allSettings } from '../entries';
import { CliError } from '../process-context';

/** `waypost export`: writes the configuration to a file. */

export function addExport(program: Group, { syntax, summary }: Listed): void {
  program.leaf<{ out?: string }>(
    syntax,
    {
      summary,
      example: 'export --out waypost.json',
      options: [
        ['--out <file>', 'write to this file, readable only by you (default standard output)'],
      ],
      more:
        'Secrets and header values are ***; give them to `waypost import` in a separate ' +
        'file. URLs are complete: if they\ncontain tokens, keep the file secret. Uploaded ' +
        'members are not included.',
    },
    async ({ api, print, world }, { out }) => {
      const { data: who } = await api().call('GET /session', {});
      if (who.role !== 'admin') {
        throw new CliError(
          'Only administrators see full URLs. Export with an administrator token.',
        );
      }
      const { hasLostItsSources, toFile } = await import('../export-file/format');
      const present = await allSettings(api());
      const file = toFile(present, new Date());
      const lost = [...present.audiences, ...present.traits].filter((one) =>
        hasLostItsSources(one, present),
      );
      for (const { name } of lost) {
        print.note(`${name} is left out: all sources that it counts were deleted.`);
      }
      const text = printableJson(`${JSON.stringify(file, null, print.json ? 0 : 2)}\n`);
      if (out === undefined) {
        world.out(text);
        return;
      }
      writeOut(world, out, text);
      const { sources, destinations, audiences, traits } = file;
      const counts = Object.entries({ sources, destinations, audiences, traits });
      print.note(
        `${counts.map(([what, all]) => `${String(all.length)} ${what}`).join(', ')} are in ${out}.`,
      );
    },
  );
}
