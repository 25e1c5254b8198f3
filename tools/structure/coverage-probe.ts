import { writeFileSync } from 'node:fs';
import { Session, type Profiler } from 'node:inspector';
import { join } from 'node:path';

/**
 * Loaded into each service (`node --require`) by call-path.ts. On SIGUSR2 it writes the functions that the process has run
 * since the last signal, and begins again.
 */

const dir = process.env.COVERAGE_DIR;
const service = /services\/(\w+)\/main\.js$/.exec(process.argv[1] ?? '')?.[1];

if (dir !== undefined && service !== undefined) {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  let count = 0;
  process.on('SIGUSR2', () => {
    session.post(
      'Profiler.takePreciseCoverage',
      (error: Error | null, taken?: Profiler.TakePreciseCoverageReturnType) => {
        const functions = (taken?.result ?? []).flatMap(({ url, functions }) =>
          functions
            .filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
            .map(({ functionName, ranges }) => `${url} ${String(ranges[0]?.startOffset)} ${functionName}`),
        );
        writeFileSync(join(dir, `${service}.${String(count++)}`), error ? String(error) : functions.join('\n'));
      },
    );
  });
}
