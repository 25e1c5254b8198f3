import { distrustRoots } from '../shared/runtime/distrusted-roots';
import { AppError } from '../shared/runtime/errors';

/**
 * The commands of one machine: `start [--together]`, `demo [--once]`, `service <name> …`; and of
 * operators: `acls`, `config backup|restore|reseal`, `service check`. Each command loads only what
 * it needs: a service in a container loads no supervisor.
 */

const USAGE =
  'Usage: npm start [-- --together] | npm run demo [-- --once] | ' +
  'npm run service -- ingest|router|delivery|retry|audiences|control … | all | topics | secrets';

async function main([command = '', ...args]: string[]): Promise<void> {
  switch (command) {
    case 'start': {
      const { start } = await import('../dev/start');
      const options = { volume: args.includes('--volume'), together: args.includes('--together') };
      return process.exit(await start(process.env, options));
    }
    case 'demo': {
      const { demo } = await import('../dev/demo');
      return process.exit(await demo(process.env, { once: args.includes('--once') }));
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
