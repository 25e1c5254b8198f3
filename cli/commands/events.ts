import { type Operations } from '../../shared/api/operations';
import { type Group, type Listed } from '../command';
import { type Fields, flagField, idField, messageTypeField, textField } from '../fields';
import { EVENT_COLUMNS } from '../output/events';
import { addList } from '../resource';

/** `waypost events`: recent events of the sources. */

type EventQuery = NonNullable<Operations['GET /events/stream']['query']>;

export const EVENT_FILTERS: Fields<EventQuery> = {
  source: idField('--source <source>', 'source'),
  type: messageTypeField,
  user: textField('--user <id>', 'a userId or an anonymousId'),
  accepted: flagField('--rejected', 'only rejected calls', 'false'),
};

export function addEvents(program: Group, { syntax, summary }: Listed): void {
  addList(program, syntax, {
    from: 'GET /events',
    summary,
    example: 'events --source "My site" --rejected',
    columns: EVENT_COLUMNS,
    filters: EVENT_FILTERS,
    limited: { most: 20_000, one: 'event', many: 'events' },
    empty: 'No recent events.',
  });
}
