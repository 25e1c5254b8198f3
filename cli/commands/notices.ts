import { type Notice } from '../../shared/api/operations';
import { NOTICE_KINDS } from '../../shared/model/notice-kinds';
import { type Group, type Listed, type Session } from '../command';
import { counted } from '../confirm';
import { usage } from '../process-context';
import { choiceField, destinationField, flagField } from '../fields';
import { paintOf } from '../output/paint';
import { addList, addShow, MOST_ROWS } from '../resource';

/** `waypost notices`: notices about destinations in trouble. */

const ALERT_WORDS = {
  none: 'not sent',
  later: 'later, if it lasts',
  due: 'due',
  sent: 'sent',
} as const satisfies Record<Notice['alert'], string>;

const NOT_YET =
  'A destination that has failed for less than five minutes has no notice yet: `waypost status` ' +
  'shows it.';

/** A recovery is no trouble that ends. */
function untilOf({ kind, endedAt }: Notice): string | undefined {
  return kind === 'recovered' ? undefined : (endedAt ?? 'ongoing');
}

export function addNotices(program: Group, { syntax, summary }: Listed): void {
  const notices = program.group(syntax, summary);
  addList(notices, 'list', {
    from: 'GET /notices',
    summary: 'List notices, the newest first',
    example: 'notices list --open',
    columns: [
      { title: 'ID', of: ({ id }) => id },
      { title: 'AT', of: ({ at }) => at },
      { title: 'DESTINATION', of: ({ name }) => name },
      { title: 'WHAT', of: ({ kind }) => kind, paint: ({ kind }) => paintOf(kind) },
      { title: 'COUNT', of: ({ count }) => count || undefined, right: true },
      { title: 'UNTIL', of: untilOf },
      { title: 'ALERT', of: ({ alert }) => ALERT_WORDS[alert] },
      { title: 'ACKNOWLEDGED BY', of: ({ acknowledged }) => acknowledged?.by.name },
      { title: 'ORIGIN', of: ({ origin }) => origin },
      { title: 'ERROR', of: ({ error }) => error },
    ],
    filters: {
      destination: destinationField,
      kind: choiceField('--kind <kind>', NOTICE_KINDS),
      open: flagField('--open', 'only ongoing notices', 'true'),
      acknowledged: flagField(
        '--unacknowledged',
        'only notices that nobody has acknowledged',
        'false',
      ),
    },
    limited: { most: MOST_ROWS, one: 'notice', many: 'notices' },
    empty: 'No matching notices.',
    hint: ({ open }) => (open === undefined ? undefined : NOT_YET),
  });
  addShow(notices, 'notice', { summary: 'Show one notice', show });
  notices.leaf<{ origin?: string }>(
    'acknowledge [notice]',
    {
      summary: 'Acknowledge a notice, or all about one origin',
      example: 'notices acknowledge --origin https://api.example.com',
      options: [['--origin <origin>', 'all notices about endpoints of this origin']],
    },
    async (session, { origin }, id = '') => {
      if ((id === '') === (origin === undefined)) {
        throw usage('Name either a notice or --origin.');
      }
      if (origin === undefined) {
        const { data } = await session.api().call('POST /notices/{id}/acknowledge', { id });
        show(session, data);
        return;
      }
      const { data } = await session.api().call('POST /notices/acknowledge', { body: { origin } });
      if (session.print.json) session.print.thing(data, []);
      else session.print.note(`Acknowledged ${counted(data.ids.length, 'notice')}.`);
    },
  );
}

function show({ print }: Session, notice: Notice): void {
  const { id, at, destination, name, kind, origin, since, endedAt, count, failures } = notice;
  const { deadLetters, partlyDelivered, fullProfiles, expiresAt, error, followedBy } = notice;
  const { alert, delivery, deliveries, acknowledged } = notice;
  print.thing(notice, [
    ['id', id],
    ['at', at],
    ['destination', destination === null ? undefined : `${name} (${destination})`],
    ['what', kind],
    ['since', since],
    ['until', endedAt ?? undefined],
    ['origin', origin ?? undefined],
    ['count now', endedAt === null ? (count ?? undefined) : undefined],
    [
      'see them with',
      deliveries === null
        ? undefined
        : `waypost deliveries --destination ${deliveries.destination} --status ${deliveries.status} --counted`,
    ],
    ['failures', failures || undefined],
    ['dead when raised', deadLetters || undefined],
    ['partly delivered when raised', partlyDelivered || undefined],
    ['full profiles when raised', fullProfiles || undefined],
    ['followed by', followedBy ?? undefined],
    ['expires', expiresAt ?? undefined],
    ['webhook', notice.webhook ?? undefined],
    ['error', error ?? undefined],
    ['alert', delivery === null ? ALERT_WORDS[alert] : `${ALERT_WORDS[alert]}: ${delivery}`],
    [
      'acknowledged',
      acknowledged ? `${acknowledged.at} by ${acknowledged.by.name}` : 'not acknowledged',
    ],
  ]);
}
