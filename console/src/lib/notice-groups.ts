import { type Notice } from '../../../shared/api/operations';

/** Groups notices by the origin of their endpoint. Pure. */

interface OriginGroup {
  origin: string;
  /** ids of the notices that nobody has acknowledged */
  unseen: string[];
  /** destinations that they are about */
  destinations: number;
}

/** Returns the origins with several unseen notices, the most first. */
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
      unseen: about.map(({ id }) => id),
      destinations: new Set(about.map(({ destination }) => destination)).size,
    }))
    .filter(({ unseen }) => unseen.length > 1)
    .sort((a, b) => b.unseen.length - a.unseen.length);
}
