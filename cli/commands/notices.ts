import { type Notice } from '../../shared/api/operations';
import { NOTICE_KINDS } from '../../shared/model/notice-kinds';
import { type Group, type Session } from '../command';
import { choiceField, destinationField, flagField } from '../fields';
import { paintOf } from '../output/paint';
import { addList, addShow, MOST_ROWS } from '../resource';

/** `waypost notices`: notices about destinations in trouble. */

export function addNotices(program: Group): void {
  const notices = program.group(
    'notices',
    'Notices about failing destinations: list, show, acknowledge',
  );
  addList(notices, 'list', {
    from: 'GET /notices',
    summary: 'List notices, newest first',
    example: 'notices list --open',
    columns: [
      { title: 'ID', of: ({ id }) => id },
      { title: 'AT', of: ({ at }) => at },
      { title: 'DESTINATION', of: ({ name }) => name },
      { title: 'WHAT', of: ({ kind }) => kind, paint: ({ kind }) => paintOf(kind) },
      { title: 'UNTIL', of: ({ endedAt }) => endedAt ?? 'ongoing' },
      { title: 'ALERT', of: ({ alert }) => alert },
      { title: 'SEEN BY', of: ({ acknowledged }) => acknowledged?.by.name },
      { title: 'ERROR', of: ({ error }) => error },
    ],
    filters: {
      destination: destinationField,
      kind: choiceField('--kind <kind>', NOTICE_KINDS),
      open: flagField('--open', 'only ongoing notices', 'true'),
      acknowledged: flagField('--unseen', 'only unacknowledged notices', 'false'),
    },
    most: MOST_ROWS,
    empty: 'No matching notices.',
  });
  addShow(notices, 'notice', { summary: 'Show one notice', show });
  notices.leaf(
    'acknowledge <notice>',
    { summary: 'Acknowledge a notice' },
    async (session, _, id = '') =>
      show(session, (await session.api().call('POST /notices/{id}/acknowledge', { id })).data),
  );
}

function show({ print }: Session, notice: Notice): void {
  const { id, at, destination, name, kind, since, endedAt, failures, deadLetters, error } = notice;
  const { partlyDelivered, fullProfiles, expiresAt, alert, delivery, acknowledged } = notice;
  print.thing(notice, [
    ['id', id],
    ['at', at],
    ['destination', destination === null ? undefined : `${name} (${destination})`],
    ['what', kind],
    ['since', since],
    ['until', endedAt ?? undefined],
    ['failures', failures || undefined],
    ['dead letters', deadLetters || undefined],
    ['partly delivered', partlyDelivered || undefined],
    ['full profiles', fullProfiles || undefined],
    ['expires', expiresAt ?? undefined],
    ['webhook', notice.webhook ?? undefined],
    ['error', error ?? undefined],
    ['alert', delivery === null ? alert : `${alert}: ${delivery}`],
    [
      'acknowledged',
      acknowledged ? `${acknowledged.at} by ${acknowledged.by.name}` : 'not acknowledged',
    ],
  ]);
}
