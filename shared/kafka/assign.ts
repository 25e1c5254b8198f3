/**
 * Who reads what: a sticky, cooperative assignment.
 *
 * Topics of one consumer are assigned together, by partition number: number n of each of them is a *stripe*, so that
 * whatever belongs to one key (a URL's lane, its circuit) is in one process. A stripe that must move is given to nobody
 * until its living owner has let go of it; its owner drains it, commits, and asks for the next round. Nothing is read
 * twice that way, and what does not move goes on.
 */

/** What a member says of itself when it joins. */
export interface Claim {
  memberId: string;
  /** stripes that it has: assigned to it, or still draining */
  owned: readonly number[];
  /** ms since 1970: when it last joined. A newer claim wins: a member that lost its session comes back with an old one */
  at: number;
  /** it is stopping: it keeps what it drains and gets nothing */
  leaving: boolean;
}

/**
 * @param stripes how many there are: the partitions of the widest topic
 * @returns the stripes of each member, ascending; a stripe in nobody's list waits for its owner to let go
 */
export function assignStripes(stripes: number, claims: readonly Claim[]): Map<string, number[]> {
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

/** The newest claim to each stripe wins; of two equally new ones the lower member id, so that all agree. */
function ownersOf(stripes: number, claims: readonly Claim[]): Map<number, string> {
  const best = new Map<number, Claim>();
  for (const claim of claims) {
    for (const stripe of claim.owned) {
      const rival = best.get(stripe);
      const wins = !rival || claim.at > rival.at || (claim.at === rival.at && claim.memberId < rival.memberId);
      if (stripe < stripes && wins) best.set(stripe, claim);
    }
  }
  return new Map([...best].map(([stripe, { memberId }]) => [stripe, memberId]));
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
