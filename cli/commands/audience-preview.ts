import { type Preview } from '../../shared/api/operations';
import { defined } from '../../shared/collections/defined';
import { type Group, type Session } from '../command';
import { idsOf } from '../entries';
import { sleep } from '../../shared/runtime/async';
import { FAILED, usage } from '../process-context';
import { CONDITION_OPTIONS, conditionOf, type ConditionOptions } from './definitions';

/**
 * `waypost audiences preview`: estimates the size of an audience and lists sample members before
 * you create it.
 */

const POLL_MS = 500;

type Options = ConditionOptions & { source?: string[] };

export function addPreview(audiences: Group): void {
  audiences.leaf<Options>(
    'preview',
    {
      summary: 'Preview the size and some members of a condition, without creating an audience',
      example: `audiences preview --condition 'has(user.traits.plan) && user.traits.plan == "pro"'`,
      options: [
        ...CONDITION_OPTIONS,
        ['--source <source...>', 'sources whose messages count, by id or name (default all)'],
      ],
      more: 'Waits for the end of the count. Press Ctrl-C to cancel.',
    },
    preview,
  );
}

async function preview(session: Session, options: Options): Promise<number> {
  const { api, print, world } = session;
  const condition = await conditionOf(session, options);
  if (condition === undefined) {
    throw usage('A condition is required: --condition or --condition-file.');
  }
  const { source } = options;
  const body = {
    condition,
    ...defined({ sources: source ? await idsOf(api(), 'source', source) : undefined }),
  };
  let { data } = await api().call('POST /audiences/preview', { body });
  const { id } = data;
  try {
    for (let said = ''; data.phase === 'counting' && !world.stop.aborted;) {
      const line =
        `counting: ${String(data.looked)} of ${String(data.of)} checked, ${sizeOf(data)} so ` +
        'far';
      if (line !== said && !print.json) print.note(line);
      said = line;
      await sleep(POLL_MS, { signal: world.stop });
      ({ data } = await api().call('GET /audiences/previews/{id}', { id }));
    }
  } finally {
    // If the call fails, the preview expires by itself.
    await api()
      .call('DELETE /audiences/previews/{id}', { id })
      .catch(() => undefined);
  }
  show(session, data);
  return data.phase === 'failed' ? FAILED : 0;
}

/** `123`, or `about 12300 (± 400)`. */
function sizeOf({ members, exact, plusMinus }: Preview): string {
  return exact ? String(members) : `about ${String(members)} (± ${String(plusMinus)})`;
}

function show({ print }: Session, found: Preview): void {
  const { phase, looked, of, failed, detail, sample } = found;
  print.thing(found, [
    ['state', phase],
    ['users', sizeOf(found)],
    ['checked', `${String(looked)} of ${String(of)}`],
    ['failed', failed],
    ['detail', detail ?? undefined],
    ...sample.map(({ userId }): [string, string] => ['such as', userId]),
  ]);
}
