import { type Notice } from '../../../shared/api/operations';

/** Groups notices by the origin of their endpoint. Pure. */

interface OriginGroup {
  origin: string;
  /** ids of the notices that nobody has acknowledged */
  unacknowledged: string[];
  /** destinations that they are about */
  destinations: number;
}

/** Returns the origins with several notices that nobody has acknowledged, the most first. */
export function groupsOf(
  notices: readonly Pick<Notice, 'id' | 'origin' | 'destination' | 'acknowledged'>[],
): OriginGroup[] {
  const groups = new Map<string, Pick<Notice, 'id' | 'destination'>[]>();
  for (const { id, origin, destination, acknowledged } of notices) {
    if (origin === null || acknowledged !== null) continue;
    groups.set(origin, [...(groups.get(origin) ?? []), { id, destination }]);
  }
  return [...groups]
    .map(([origin, about]) => ({
      origin,
      unacknowledged: about.map(({ id }) => id),
      destinations: new Set(about.map(({ destination }) => destination)).size,
    }))
    .filter(({ unacknowledged }) => unacknowledged.length > 1)
    .sort((a, b) => b.unacknowledged.length - a.unacknowledged.length);
}
