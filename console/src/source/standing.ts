import { type SourceRow } from '../../../shared/api/operations';

/** What somebody most likely wants to do with a source. Pure. */

type Activity = NonNullable<SourceRow['activity']>;
type Action = 'enable' | 'send' | 'connect';

/**
 * Returns the next thing that the source needs; undefined: nothing.
 * @param activity undefined: not known
 */
export function actionFor(
  { enabled }: Pick<SourceRow, 'enabled'>,
  activity: Pick<Activity, 'calls' | 'destinations'> | undefined,
): Action | undefined {
  if (!enabled) return 'enable';
  if (activity?.destinations === 0) return 'connect';
  return activity?.calls === 0 ? 'send' : undefined;
}

/** Returns the share of rejected calls among the last ones; undefined: there were none. */
export function rejectedShare({ accepted, rejected }: Activity['recent']): number | undefined {
  const all = accepted + rejected;
  return all === 0 ? undefined : rejected / all;
}
