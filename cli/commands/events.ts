import { type Command } from 'commander';
import { type Operations } from '../../shared/api/operations';
import { MESSAGE_TYPES } from '../../shared/model/message';
import { type Cli, leaf, oneOf, type Session, whole } from '../command';
import { all } from '../connect/api';
import { findSource } from '../resolve-by-name';
import { EVENT_COLUMNS } from '../output/events';

/** `waypost events`: recent events of the sources. */

export interface EventOptions {
  source?: string;
  type?: string;
  user?: string;
  rejected?: boolean;
}

export const EVENT_FILTERS: [string, string][] = [
  ['--source <source>', 'by id or name'],
  ['--type <type>', MESSAGE_TYPES.join(', ')],
  ['--user <id>', 'a userId or an anonymousId'],
  ['--rejected', 'only rejected calls'],
];

export function addEvents(cli: Cli, program: Command): void {
  leaf<EventOptions & { limit?: string }>(
    cli,
    [program, 'events'],
    {
      summary: 'List recent events, newest first',
      example: 'events --source "My site" --rejected',
      options: [...EVENT_FILTERS, ['--limit <n>', 'maximum number (default 50)']],
    },
    async (session, options) => {
      const query = await eventQuery(session, options);
      const limit = whole(options.limit ?? '50', '--limit', [1, 20_000]);
      const { call } = session.api();
      const found = await all((page) => call('GET /events', { query: { ...query, ...page } }), limit);
      session.print.rows(EVENT_COLUMNS, found, 'No recent events.');
    },
  );
}

type Query = NonNullable<Operations['GET /events/stream']['query']>;

export async function eventQuery(session: Session, { source, type, user, rejected }: EventOptions): Promise<Query> {
  return {
    ...(source !== undefined && { source: (await findSource(session.api(), source)).id }),
    ...(type !== undefined && { type: oneOf(type, '--type', MESSAGE_TYPES) }),
    ...(user !== undefined && { user }),
    ...(rejected && { accepted: 'false' as const }),
  };
}
