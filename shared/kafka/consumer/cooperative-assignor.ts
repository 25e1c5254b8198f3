/**
 * Assigns partitions to members: a sticky, cooperative assignment.
 *
 * Topics with the same readers are co-partitioned: their partitions of one number form a
 * *co-partition* and go to one member, so that one process has all state of a key (a URL's lane,
 * its circuit). A co-partition that must move is assigned to no member until its living owner has
 * released it: the owner drains it, commits, and asks for the next round. So no record is read
 * twice, and a co-partition that does not move is not interrupted.
 */

/** The part of a joining member that the assignment depends on. */
interface Joining {
  memberId: string;
  /**
   * The generation of the group in which the member was last known to be alive. A newer claim wins:
   * a member that lost its session comes back with an old one. Absent: not known in its present
   * session.
   */
  generation?: number | undefined;
  /** when it last joined, ms since 1970; compared if a generation is absent or both are equal */
  at: number;
  /** it is stopping: it keeps the partitions that it drains and gets no others */
  leaving: boolean;
}

/** A member with its claimed co-partitions. */
export interface Claim extends Joining {
  /** co-partitions that are assigned to it, or still draining */
  owned: readonly number[];
}

/** A member with its claimed partitions. */
export interface Member extends Joining {
  /** its subscription; it drops every other topic that it is assigned */
  topics: readonly string[];
  /** partitions by topic that are assigned to it, or still draining */
  places: Readonly<Record<string, readonly number[]>>;
}

/**
 * Assigns partitions. Topics with the same readers are co-partitioned. Some members may read topics
 * that others do not read yet, as with new tiers: these are divided among their readers alone.
 * @param counts partitions of each topic
 * @returns the partitions of each member, by topic, ascending; a partition in no list waits for its
 *   owner to release it
 */
export function assignPlaces(
  counts: ReadonlyMap<string, number>,
  members: readonly Member[],
): Map<string, Record<string, number[]>> {
  const result = new Map<string, Record<string, number[]>>(
    members.map(({ memberId }) => [memberId, {}]),
  );
  for (const { topics, readers } of sharing([...counts.keys()], members)) {
    const claims = readers.map((member) => ({
      ...member,
      owned: topics.flatMap((topic) => member.places[topic] ?? []),
    }));
    const copartitions = assignCopartitions(
      Math.max(...topics.map((topic) => counts.get(topic) ?? 0)),
      claims,
    );
    for (const topic of topics) {
      const count = counts.get(topic) ?? 0;
      const owners = ownersOf(
        count,
        readers.map((member) => ({ ...member, owned: member.places[topic] ?? [] })),
      );
      for (const [memberId, numbers] of copartitions) {
        // Another member may own this partition of the co-partition, since a round with other
        // readers.
        const free = numbers.filter(
          (number) => number < count && (owners.get(number) ?? memberId) === memberId,
        );
        Object.assign(result.get(memberId) ?? {}, { [topic]: free });
      }
    }
  }
  return result;
}

/** Groups the topics by the members that read them. */
function sharing(
  topics: readonly string[],
  members: readonly Member[],
): { topics: string[]; readers: Member[] }[] {
  const found = new Map<string, { topics: string[]; readers: Member[] }>();
  for (const topic of topics) {
    const readers = members.filter((member) => member.topics.includes(topic));
    const key = readers.map(({ memberId }) => memberId).join();
    const group = found.get(key);
    if (group) group.topics.push(topic);
    else found.set(key, { topics: [topic], readers });
  }
  return [...found.values()];
}

/**
 * Assigns co-partitions in equal shares.
 * @param copartitions their number: the partitions of the widest topic
 * @returns the co-partitions of each member, ascending; one in no list waits for its owner to
 *   release it
 */
export function assignCopartitions(
  copartitions: number,
  claims: readonly Claim[],
): Map<string, number[]> {
  const owners = ownersOf(copartitions, claims);
  const result = new Map<string, number[]>(claims.map(({ memberId }) => [memberId, []]));
  const quotas = quotasOf(copartitions, claims, owners);
  const free: number[] = [];
  for (let copartition = 0; copartition < copartitions; copartition++) {
    const owner = owners.get(copartition);
    if (owner === undefined) {
      free.push(copartition);
      continue;
    }
    const kept = result.get(owner);
    if (kept && kept.length < (quotas.get(owner) ?? 0)) kept.push(copartition);
  }
  for (const copartition of free) {
    const needy = neediest(quotas, result);
    if (needy === undefined) break;
    result.get(needy)?.push(copartition);
  }
  for (const list of result.values()) list.sort((a, b) => a - b);
  return result;
}

/** Finds the member with the newest claim to each co-partition. */
function ownersOf(copartitions: number, claims: readonly Claim[]): Map<number, string> {
  const best = new Map<number, Claim>();
  for (const claim of claims) {
    for (const copartition of claim.owned) {
      const rival = best.get(copartition);
      if (copartition < copartitions && (!rival || isNewer(claim, rival))) {
        best.set(copartition, claim);
      }
    }
  }
  return new Map([...best].map(([copartition, { memberId }]) => [copartition, memberId]));
}

/**
 * Compares generations first: clocks differ and jump. Between two equally new claims, the lower
 * member id wins.
 */
function isNewer(claim: Joining, rival: Joining): boolean {
  const [a, b] = [claim.generation, rival.generation];
  if (a !== undefined && b !== undefined && a !== b) return a > b;
  return claim.at > rival.at || (claim.at === rival.at && claim.memberId < rival.memberId);
}

/**
 * Returns equal shares. The odd ones go to the members that own most, so that fewer co-partitions
 * move.
 */
function quotasOf(
  copartitions: number,
  claims: readonly Claim[],
  owners: Map<number, string>,
): Map<string, number> {
  const counts = new Map<string, number>();
  for (const owner of owners.values()) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  const staying = claims
    .filter((claim) => !claim.leaving)
    .map(({ memberId }) => memberId)
    .sort((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0) || (a < b ? -1 : 1));
  const share = Math.floor(copartitions / Math.max(1, staying.length));
  const odd = copartitions % Math.max(1, staying.length);
  return new Map(staying.map((memberId, i) => [memberId, share + (i < odd ? 1 : 0)]));
}

function neediest(quotas: Map<string, number>, result: Map<string, number[]>): string | undefined {
  let best: string | undefined;
  let most = 0;
  for (const [memberId, quota] of quotas) {
    const needs = quota - (result.get(memberId)?.length ?? 0);
    if (needs > most) [best, most] = [memberId, needs];
  }
  return best;
}
