import { type Command } from 'commander';
import { CALL_TYPES } from '../../shared/model/message';
import { type Cli, leaf, oneOf } from '../command';
import { findDestination } from '../resolve-by-name';
import { showTest } from '../output/test';
import { FAILED } from '../process-context';
import { ROTATION_OPTIONS, type RotationOptions, rotationOf, showRotated } from './rotation';

/** Actions on a destination: test, rotate its secret, delete. */

export function addDestinationActions(cli: Cli, destinations: Command): void {
  leaf<{ type?: string }>(
    cli,
    [destinations, 'test <destination>'],
    {
      summary: 'Send a sample through the pipeline; exit code 1 unless it is delivered',
      example: 'destinations test "My hook" --type identify',
      options: [['--type <type>', `type of the sample (default track): ${CALL_TYPES.join(', ')}`]],
    },
    async (session, options, name = '') => {
      const type = oneOf(options.type ?? 'track', '--type', CALL_TYPES);
      const { id } = await findDestination(session.api(), name);
      const { data } = await session.api().call('POST /destinations/{id}/test', { id, body: { type } });
      showTest(session.print, data);
      return data.status === 'delivered' ? 0 : FAILED;
    },
  );
  leaf<RotationOptions>(
    cli,
    [destinations, 'rotate-secret <destination>'],
    {
      summary: 'Rotate the shared secret; without a file, Waypost generates one and shows it once',
      example: 'destinations rotate-secret "My hook" --overlap 24h > new-secret',
      options: ROTATION_OPTIONS,
    },
    async (session, options, name = '') => {
      const { id } = await findDestination(session.api(), name);
      const body = await rotationOf(session, options);
      showRotated(session, (await session.api().call('POST /destinations/{id}/rotate-secret', { id, body })).data);
    },
  );
  leaf(
    cli,
    [destinations, 'delete <destination>'],
    { summary: 'Delete a destination and cancel its waiting deliveries', example: 'destinations delete "My hook"' },
    async ({ api, print }, _, name = '') => {
      const { id } = await findDestination(api(), name);
      await api().call('DELETE /destinations/{id}', { id });
      print.thing({ id, deleted: true }, [['deleted', id]]);
    },
  );
}
