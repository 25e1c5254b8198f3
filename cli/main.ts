import { distrustRoots } from '../shared/runtime/distrusted-roots';
import { homeFolder } from '../shared/runtime/home';
import { run } from './run';

/** The process of the command line. */

const stop = new AbortController();
/** the running command handles the stop signal itself */
let watched = false;
let askedAt: number | undefined;
/**
 * npx forwards a Ctrl-C that the terminal already sent to every process: a second signal within
 * this time is the same one.
 */
const SAME_MS = 2_000;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    const first = (askedAt ??= performance.now());
    // On the second Ctrl-C, exit immediately.
    if (!watched || performance.now() - first > SAME_MS) process.exit(130);
    stop.abort();
  });
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // `waypost … | head` has read enough.
  process.exit(error.code === 'EPIPE' ? 0 : 1);
});
// A command goes on to its result, although nobody reads how it goes.
process.stderr.on('error', () => undefined);

distrustRoots();
void run(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  home: homeFolder(),
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  terminal: process.stdout.isTTY,
  stdin: process.stdin,
  get stop() {
    watched = true;
    return stop.signal;
  },
}).then((code) => {
  process.exitCode = code;
  // Exit even if something, such as a socket that waits for its server, still keeps the process
  // alive. Flush pipes first.
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
});
