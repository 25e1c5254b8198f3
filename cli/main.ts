import { homedir } from 'node:os';
import { run } from './run';

/** The process of the command line. */

const stop = new AbortController();
/** the command that runs ends by itself when it is told to */
let watched = false;
let askedAt: number | undefined;
/** npx passes on the Ctrl-C that a terminal gives to all: a second signal within this time is the same one. */
const SAME_MS = 2_000;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    const first = (askedAt ??= Date.now());
    // The second time somebody is in a hurry.
    if (!watched || Date.now() - first > SAME_MS) process.exit(130);
    stop.abort();
  });
}

for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // `waypost … | head` has what it wanted.
    process.exit(error.code === 'EPIPE' ? 0 : 1);
  });
}

void run(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  home: homedir(),
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
  // Whatever keeps the process alive now (a socket that waits for its server) is of no use to anybody. What was written to a
  // pipe must still go out.
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
});
