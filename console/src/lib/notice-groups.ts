import { type Notice } from '../../../shared/api/operations';

/** Groups notices by the origin of their endpoint. Pure. */

interface OriginGroup {
  origin: string;
  /** notices that nobody has acknowledged */
  unseen: number;
  /** destinations that they are about */
  destinations: number;
}

/** Returns the origins with several unseen notices, the most first. */
export function groupsOf(
  notices: readonly Pick<Notice, 'origin' | 'destination' | 'acknowledged'>[],
): OriginGroup[] {
  const groups = new Map<string, (string | null)[]>();
  for (const { origin, destination, acknowledged } of notices) {
    if (origin === null || acknowledged !== null) continue;
    groups.set(origin, [...(groups.get(origin) ?? []), destination]);
  }
  return [...groups]
    .map(([origin, about]) => ({
      origin,
      unseen: about.length,
      destinations: new Set(about).size,
    }))
    .filter(({ unseen }) => unseen > 1)
    .sort((a, b) => b.unseen - a.unseen);
}
