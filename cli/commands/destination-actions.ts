import { type Command } from 'commander';
import { type Test } from '../../shared/api/operations';
import { CALL_TYPES } from '../../shared/domain/message';
import { type Cli, leaf, oneOf, type Session } from '../command';
import { findDestination } from '../find';
import { readSecretFile } from '../secret-input';
import { FAILED, usage } from '../world';

/** What is done with a destination: test it, rotate its secret, delete it. */

export function addDestinationActions(cli: Cli, destinations: Command): void {
  leaf<{ type?: string }>(
    cli,
    [destinations, 'test <destination>'],
    {
      summary: 'Send a sample through the real pipeline; exit code 1 unless it was delivered',
      example: 'destinations test "My hook" --type identify',
      options: [['--type <type>', `of the sample (default track): ${CALL_TYPES.join(', ')}`]],
    },
    async (session, options, name = '') => {
      const type = oneOf(options.type ?? 'track', '--type', CALL_TYPES);
      const { id } = await findDestination(session.api(), name);
      const { data } = await session.api().call('POST /destinations/{id}/test', { id, body: { type } });
      showTest(session, data);
      return data.status === 'delivered' ? 0 : FAILED;
    },
  );
  leaf<RotateOptions>(
    cli,
    [destinations, 'rotate-secret <destination>'],
    {
      summary: 'Give it a new shared secret; without a file one is made, and shown this once',
      example: 'destinations rotate-secret "My hook" --overlap 24h > new-secret',
      options: [
        ['--secret-file <file>', 'the new secret; - for standard input'],
        ['--overlap <duration>', 'how long both sign webhook-signature (default 24h)'],
        ['--switch-at <time>', 'when X-Signature changes (default: at the end of the overlap)'],
      ],
    },
    rotate,
  );
  leaf(
    cli,
    [destinations, 'delete <destination>'],
    { summary: 'Delete it: what waits for it is cancelled', example: 'destinations delete "My hook"' },
    async ({ api, print }, _, name = '') => {
      const { id } = await findDestination(api(), name);
      await api().call('DELETE /destinations/{id}', { id });
      print.thing({ id, deleted: true }, [['deleted', id]]);
    },
  );
}

interface RotateOptions {
  secretFile?: string;
  overlap?: string;
  switchAt?: string;
}

async function rotate(session: Session, options: RotateOptions, name = ''): Promise<void> {
  const { world, print } = session;
  const { secretFile, overlap, switchAt } = options;
  if (switchAt !== undefined && Number.isNaN(Date.parse(switchAt))) {
    throw usage(`--switch-at must be a time such as 2026-12-01T10:00:00Z, not "${switchAt}".`);
  }
  const { id } = await findDestination(session.api(), name);
  const body = {
    ...(secretFile !== undefined && { sharedSecret: await readSecretFile(world, secretFile) }),
    ...(overlap !== undefined && { overlap }),
    ...(switchAt !== undefined && { switchAt }),
  };
  const { data } = await session.api().call('POST /destinations/{id}/rotate-secret', { id, body });
  if (print.json) {
    print.thing(data, []);
    return;
  }
  // Alone on standard output, so that it can go to a file.
  if (data.sharedSecret !== undefined) world.out(`${data.sharedSecret}\n`);
  const until = data.secretRotation?.overlapUntil;
  print.note(until ? `Both secrets sign webhook-signature until ${until}.` : 'The old secret signs no more.');
}

function showTest({ print }: Session, test: Test): void {
  print.thing(test, [
    ['delivery', test.delivery],
    ['status', test.status],
    ['reason', test.reason ?? undefined],
    ['took', test.attempt ? `${String(test.attempt.durationMs)} ms` : undefined],
    ...(test.attempt?.urls ?? []).map(({ origin, outcome, status, error }): [string, string] => [
      'url',
      [origin, outcome, status ?? '', error?.message ?? ''].filter((part) => part !== '').join('  '),
    ]),
  ]);
}
