import { distrustRoots } from '../shared/runtime/distrusted-roots';
import { AppError } from '../shared/runtime/errors';
import { SERVICE_USAGE } from './service-list';

/**
 * The commands of one machine: `start [--together]`, `demo [--once]`, `service <name> …`; and of
 * operators: `acls`, `config backup|restore|reseal`, `service check`. Each command loads only what
 * it needs: a service in a container loads no supervisor.
 */

const USAGE =
  'Usage: start [--together] | demo [--once] | service NAME …, in a clone as ' +
  '`npm start -- --together`, `npm run demo` or `npm run service -- NAME`';

async function main([command = '', ...args]: string[]): Promise<void> {
  if ([command, ...args].includes('--help')) {
    process.stdout.write(`${command === 'service' ? SERVICE_USAGE : USAGE}\n`);
    return;
  }
  switch (command) {
    case 'start': {
      const has = optionsOf(args, ['--volume', '--together']);
      const { start } = await import('../dev/start');
      const options = { volume: has('--volume'), together: has('--together') };
      return process.exit(await start(process.env, options));
    }
    case 'demo': {
      const has = optionsOf(args, ['--once']);
      const { demo } = await import('../dev/demo');
      return process.exit(await demo(process.env, { once: has('--once') }));
    }
    case 'service': {
      if (args[0] === 'config') return configure(args.slice(1));
      if (args[0] === 'check') {
        const { check } = await import('./check');
        return check(args[1], process.env, (line) => process.stdout.write(`${line}\n`));
      }
      const { runService } = await import('./run-service');
      return runService(args, process.env);
    }
    case 'acls': {
      const { printGrants } = await import('./acls');
      printGrants(args[0], process.env);
      return;
    }
    case 'config':
      return configure(args);
    default:
      throw new AppError('cannot_start', USAGE);
  }
}

/**
 * Returns which options were given.
 * @throws AppError `cannot_start` if one of them is unknown
 */
function optionsOf(args: readonly string[], known: readonly string[]): (name: string) => boolean {
  const wrong = args.find((arg) => !known.includes(arg));
  if (wrong !== undefined) {
    throw new AppError('cannot_start', `Unknown option: ${wrong}. See --help`);
  }
  return (name) => args.includes(name);
}

async function configure([command, ...options]: string[]): Promise<void> {
  const { takeStoredKey } = await import('./run-service');
  takeStoredKey(process.env);
  if (command === 'reseal') {
    const { reencrypt } = await import('./config-reencrypt');
    return reencrypt(process.env, (line) => process.stderr.write(`${line}\n`), {
      keyLost: options.includes('--key-lost'),
      dropUnauthenticated: options.includes('--drop-unauthenticated'),
    });
  }
  const { copyConfig } = await import('./config-copy');
  return copyConfig(command, process.env, { input: process.stdin, output: process.stdout });
}

distrustRoots();
main(process.argv.slice(2)).catch((error: unknown) => {
  // A mistake of the caller is one sentence; a bug keeps its stack.
  process.stderr.write(
    `${error instanceof AppError ? error.message : String((error as Error).stack)}\n`,
  );
  process.exit(1);
});
