import { type Operations } from '../../shared/api/operations';
import { type Group, type Session } from '../command';

/**
 * `waypost record-format`: the format of records in Kafka, and the processes that hold a newer one
 * back.
 */

type RecordFormat = Operations['GET /record-format']['response'];

export function addRecordFormat(program: Group): void {
  const group = program.group('record-format', 'The format of records in Kafka: show, off, auto');
  group.leaf(
    'show',
    { summary: 'Show the format, and the processes that hold a newer one back' },
    async (session) => {
      show(session, (await session.api().call('GET /record-format', {})).data);
    },
  );
  for (const [word, automatic, summary] of [
    ['off', false, 'Write format 1 again, before you return to an older version'],
    ['auto', true, 'Switch a newer format on once every process has read it for ten minutes'],
  ] as const) {
    group.leaf(word, { summary }, async (session) => {
      show(
        session,
        (await session.api().call('PATCH /record-format', { body: { automatic } })).data,
      );
    });
  }
}

function show({ print }: Session, found: RecordFormat): void {
  const { format, newest, automatic, members, missing, settling, switchesAt } = found;
  const older = members.filter(({ reads }) => reads < newest);
  const isPending = automatic && format < newest;
  print.thing(found, [
    ['format', `${String(format)} of ${String(newest)}`],
    ['newer formats', automatic ? 'switched on once every process reads them' : 'off'],
    ...older.map(lineOf),
    ...missing.map((group): [string, string] => ['no process', group]),
    ...settling.map((group): [string, string] => ['assigns partitions', group]),
    [
      'switched on',
      isPending ? (switchesAt ?? 'ten minutes after every process reads it') : undefined,
    ],
  ]);
}

function lineOf({ group, client, host, reads }: RecordFormat['members'][number]): [string, string] {
  return ['older process', `${client} at ${host}, group ${group}, reads format ${String(reads)}`];
}
