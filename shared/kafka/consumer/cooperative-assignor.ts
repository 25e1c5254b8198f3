/**
 * Decides which member reads which partitions: a sticky, cooperative assignment.
 *
 * Topics with the same readers are assigned together, by partition number: number n of each of them is a *stripe*, so that
 * everything that belongs to one key (a URL's lane, its circuit) is in one process. A stripe that must move is given to
 * no member until its living owner has let go of it; its owner drains it, commits, and asks for the next round. Nothing is
 * read twice that way, and a stripe that does not move is not interrupted.
 */

/** Describes one member when it joins, as far as the assignment depends on it. */
interface Joining {
  memberId: string;
  /**
   * The group's generation in which it was last known to be alive. A newer claim wins: a member that lost its session
   * comes back with an old one. Absent in members of older versions.
   */
  generation?: number | undefined;
  /** ms since 1970: when it last joined. Compared where a generation is absent or both are equal */
  at: number;
  /** it is stopping: it keeps what it drains and gets nothing */
  leaving: boolean;
}

/** A member that claims stripes. */
export interface Claim extends Joining {
  /** stripes that it has: assigned to it, or still draining */
  owned: readonly number[];
}

/** A member that claims partitions. */
export interface Member extends Joining {
  /** it subscribes to these, and drops every other topic that it is given */
  topics: readonly string[];
  /** partitions that it has, by topic: assigned to it, or still draining */
  places: Readonly<Record<string, readonly number[]>>;
}

/**
 * Topics that the same members read share their stripes. During an upgrade some members may read topics that others do not
 * know yet: these are divided among their readers alone.
 * @param counts partitions of each topic
 * @returns the partitions of each member, by topic, ascending; a partition in no list waits for its owner to let go
 */
export function assignPlaces(
  counts: ReadonlyMap<string, number>,
  members: readonly Member[],
): Map<string, Record<string, number[]>> {
  const result = new Map<string, Record<string, number[]>>(members.map(({ memberId }) => [memberId, {}]));
  for (const { topics, readers } of sharing([...counts.keys()], members)) {
    const claims = readers.map((member) => ({
      ...member,
      owned: topics.flatMap((topic) => member.places[topic] ?? []),
    }));
    const stripes = assignCopartitions(Math.max(...topics.map((topic) => counts.get(topic) ?? 0)), claims);
    for (const topic of topics) {
      const count = counts.get(topic) ?? 0;
      const owners = ownersOf(
        count,
        readers.map((member) => ({ ...member, owned: member.places[topic] ?? [] })),
      );
      for (const [memberId, numbers] of stripes) {
        // Another member may have this one partition of the stripe, since a round in which the readers were others.
        const free = numbers.filter((number) => number < count && (owners.get(number) ?? memberId) === memberId);
        Object.assign(result.get(memberId) ?? {}, { [topic]: free });
      }
    }
  }
  return result;
}

/** Groups the topics by the members that read them. */
function sharing(topics: readonly string[], members: readonly Member[]): { topics: string[]; readers: Member[] }[] {
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
 * @param stripes how many there are: the partitions of the widest topic
 * @returns the stripes of each member, ascending; a stripe in no list waits for its owner to let go
 */
export function assignCopartitions(stripes: number, claims: readonly Claim[]): Map<string, number[]> {
  const owners = ownersOf(stripes, claims);
  const result = new Map<string, number[]>(claims.map(({ memberId }) => [memberId, []]));
  const quotas = quotasOf(stripes, claims, owners);
  const free: number[] = [];
  for (let stripe = 0; stripe < stripes; stripe++) {
    const owner = owners.get(stripe);
    if (owner === undefined) {
      free.push(stripe);
      continue;
    }
    const kept = result.get(owner);
    if (kept && kept.length < (quotas.get(owner) ?? 0)) kept.push(stripe);
  }
  for (const stripe of free) {
    const needy = neediest(quotas, result);
    if (needy === undefined) break;
    result.get(needy)?.push(stripe);
  }
  for (const list of result.values()) list.sort((a, b) => a - b);
  return result;
}

/** Finds the member with the newest claim to each stripe. */
function ownersOf(stripes: number, claims: readonly Claim[]): Map<number, string> {
  const best = new Map<number, Claim>();
  for (const claim of claims) {
    for (const stripe of claim.owned) {
      const rival = best.get(stripe);
      if (stripe < stripes && (!rival || isNewer(claim, rival))) best.set(stripe, claim);
    }
  }
  return new Map([...best].map(([stripe, { memberId }]) => [stripe, memberId]));
}

/** Generations do not depend on clocks, which differ and jump. Of two equally new claims that of the lower member id wins. */
function isNewer(claim: Joining, rival: Joining): boolean {
  const [a, b] = [claim.generation, rival.generation];
  if (a !== undefined && b !== undefined && a !== b) return a > b;
  return claim.at > rival.at || (claim.at === rival.at && claim.memberId < rival.memberId);
}

/** Equal shares; the odd ones go to those who have most, so that they need not move. */
function quotasOf(stripes: number, claims: readonly Claim[], owners: Map<number, string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const owner of owners.values()) counts.set(owner, (counts.get(owner) ?? 0) + 1);
  const staying = claims
    .filter((claim) => !claim.leaving)
    .map(({ memberId }) => memberId)
    .sort((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0) || (a < b ? -1 : 1));
  const share = Math.floor(stripes / Math.max(1, staying.length));
  const odd = stripes % Math.max(1, staying.length);
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
