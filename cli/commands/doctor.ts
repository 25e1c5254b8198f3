import { printableLines } from '../../shared/runtime/printable';
import { type Group, type Listed } from '../command';
import { todosOf } from '../doctor/check';
import { paintOf } from '../output/paint';
import { FAILED } from '../process-context';

/** `waypost doctor`: checks the installation and says how to fix a problem. */

export function addDoctor(program: Group, { syntax, summary }: Listed): void {
  program.leaf(
    syntax,
    {
      summary,
      example: 'doctor',
      more:
        'Next to `npm start` it finds everything by itself. Elsewhere, give it the ' +
        'environment of the services. Exit code 1 if a check\nfails; 0 with warnings only.',
    },
    async (session) => {
      const { print, world } = session;
      const { examine } = await import('../doctor/examine');
      const checks = await examine(session);
      print.rows(
        [
          { title: 'RESULT', of: ({ result }) => result, paint: ({ result }) => paintOf(result) },
          { title: 'CHECK', of: ({ name }) => name },
          { title: 'FOUND', of: ({ found }) => found },
        ],
        checks,
        '',
      );
      if (!print.json) {
        for (const { names, todo } of todosOf(checks)) {
          world.out(`\n${printableLines(`${names.join(', ')}: ${todo}`)}\n`);
        }
      }
      return checks.some(({ result }) => result === 'fail') ? FAILED : 0;
    },
  );
}
