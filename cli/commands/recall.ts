import { printable } from '../../shared/runtime/printable';
import { type Group, type Listed, type Session } from '../command';
import { waitingThere } from '../consequences';
import { find } from '../entries';
import { idField, numberField, optionsOf, readFields, type Fields } from '../fields';
import { usage } from '../process-context';
import { named } from '../resource';
import { FOLLOW, type FollowOption, showOrFollow } from './replay';

/** `waypost retry` and `waypost cancel`: sends what waits now, or ends it. */

interface RecallOptions {
  destination?: string;
  maxPerSecond?: number;
}

const DESTINATION: Fields<RecallOptions> = {
  destination: idField('--destination <destination>', 'destination', {
    help: 'all that wait at this destination, by id or name',
  }),
};
const RATE: Fields<RecallOptions> = {
  maxPerSecond: numberField(
    '--max-per-second <n>',
    'with --destination: default a slow start',
    [0.1, 10_000],
  ),
};

export function addRetry(program: Group, { syntax, summary }: Listed): void {
  program.leaf<FollowOption>(
    syntax,
    {
      summary,
      example: 'retry --destination "My hook" --follow',
      options: [...optionsOf(DESTINATION), ...optionsOf(RATE), FOLLOW],
    },
    async (session, options, id) => {
      const { destination, maxPerSecond } = await readFields(session, options, {
        ...DESTINATION,
        ...RATE,
      });
      requireOne(id, destination);
      if (destination === undefined) return one(session, 'retry', id);
      const body = maxPerSecond === undefined ? {} : { maxPerSecond };
      const { data } = await session
        .api()
        .call('POST /destinations/{id}/retry', { id: destination, body });
      return showOrFollow(session, data, options);
    },
  );
}

export function addCancel(program: Group, { syntax, summary }: Listed): void {
  program.leaf<FollowOption>(
    syntax,
    {
      summary,
      example: 'cancel dlv_…',
      options: [...optionsOf(DESTINATION), FOLLOW],
      asks: 'always',
    },
    async (session, options, id) => {
      const { destination } = await readFields(session, options, DESTINATION);
      requireOne(id, destination);
      if (destination === undefined) {
        await session.confirm(() => cancelQuestion(session, id));
        return one(session, 'cancel', id);
      }
      await session.confirm(async () => {
        const entry = await find(session.api(), 'destination', destination);
        return (
          `Cancel all that waits at ${named('destination', entry)}? ` +
          (await waitingThere(session, destination))
        );
      });
      const { data } = await session
        .api()
        .call('POST /destinations/{id}/cancel', { id: destination });
      return showOrFollow(session, data, options);
    },
  );
}

async function cancelQuestion({ api }: Session, given = ''): Promise<string> {
  const { id, event, type, userId, destination } = await find(api(), 'delivery', given);
  const what = `"${printable(event ?? type)}"${userId === null ? '' : ` of ${printable(userId)}`}`;
  return `Cancel 1 delivery, ${id}: ${what} to destination ${destination}?`;
}

/** @throws a usage error */
function requireOne(id: string | undefined, destination: string | undefined): void {
  if ((id === undefined) === (destination === undefined)) {
    throw usage('Name one delivery, or a destination with --destination.');
  }
}

async function one({ api, print }: Session, action: 'retry' | 'cancel', id = ''): Promise<number> {
  const { data } = await api().call(`POST /deliveries/{id}/${action}`, { id });
  print.thing(data, [
    ['delivery', data.id],
    ['requested', data.action],
    ['status', data.reason === null ? data.status : `${data.status} (${data.reason})`],
  ]);
  return 0;
}
