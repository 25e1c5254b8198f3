import { type Group, type Session } from '../command';
import { counted } from '../confirm';
import { readAgain } from '../connect/read-again';
import { openInput, uploadMembers } from '../connect/upload';
import { find } from '../entries';
import { named } from '../resource';
import { sleep } from '../../shared/runtime/async';

/** `waypost audiences upload`: uploads members from a file. */

const SAY_EVERY_MS = 1_000;
const POLL_MS = 500;

interface Options {
  changes?: boolean;
  allowEmpty?: boolean;
  follow?: boolean;
}

export function addUpload(audiences: Group): void {
  audiences.leaf<Options>(
    'upload <audience> <file>',
    {
      summary: 'Upload members, one per line, from a file or, with -, from standard input',
      example: 'audiences upload "Invited" members.ndjson --follow',
      options: [
        [
          '--changes',
          'lines are {"add":"ann"} and {"remove":"bob"}. Without it, the lines replace all members',
        ],
        ['--allow-empty', 'accept an empty file, which removes all members'],
        ['--follow', 'wait until the upload is applied'],
      ],
      asks: 'sometimes',
      more:
        'A line is a user id in JSON ("ann"), an object ({"userId":"ann"}), or a plain user ' +
        'id. The upload is applied completely or not at all.',
    },
    upload,
  );
}

async function upload(
  session: Session,
  { changes = false, allowEmpty = false, follow = false }: Options,
  name = '',
  file = '',
): Promise<void> {
  const { api, print, world } = session;
  const audience = await find(api(), 'audience', name);
  const { id, status } = audience;
  if (!changes && status.members > 0) {
    await session.confirm(
      () =>
        `Replace the members of ${named('audience', audience)}? It has ` +
        `${counted(status.members, 'user')}, who leave unless the file names them.`,
    );
  }
  const input = openInput(world, file);
  let saidAt = Date.now();
  const { upload: number, lines } = await uploadMembers(api(), {
    id,
    method: changes ? 'PATCH' : 'PUT',
    input,
    mayBeEmpty: changes || allowEmpty,
    onProgress: (sent) => {
      const now = Date.now();
      if (now - saidAt < SAY_EVERY_MS) return;
      saidAt = now;
      const part =
        input.size === undefined
          ? ''
          : `${String(Math.floor((sent.bytes / input.size) * 100))} %, `;
      print.note(`${part}${String(sent.lines)} lines sent`);
    },
  });
  while (follow && !world.stop.aborted) {
    const read = await readAgain(session, () => api().call('GET /audiences/{id}', { id }));
    if (!read || read.data.status.upload >= number) break;
    await sleep(POLL_MS, { signal: world.stop });
  }
  print.thing({ audience: id, upload: number, lines }, [
    ['audience', id],
    ['lines', lines],
    ['upload', number],
  ]);
}
