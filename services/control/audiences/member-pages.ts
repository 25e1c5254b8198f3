import { defined } from '../../../shared/collections/defined';
import {
  type ProfileResult,
  type Member,
  type MembersResult,
  type MembersQuery,
} from '../../../shared/model/profile-records';
import { Problem } from '../http/problem';
import { type QueryClient, nobodyThere } from './query-client';
import { newId } from '../config/config-entries';

/**
 * Pages of members in order of partition and id. Each process is queried for its partitions. A page
 * ends at a partition without an answer, so that no member is skipped between two pages.
 */

/** The start of a page: after a user of a partition, or at the first user. */
export interface MemberPosition {
  partition: number;
  after?: string;
}

export interface MemberPage {
  members: Member[];
  /** undefined after the last page */
  next: MemberPosition | undefined;
}

export interface PageOptions {
  /** id of the audience or computed trait */
  definition: string;
  limit: number;
  from: MemberPosition;
  /**
   * known number of members by partition; it determines how many partitions are queried together
   */
  expected: ReadonlyMap<number, number>;
}

const PAGE_WITHIN_MS = 2_000;

export class MemberPages {
  constructor(
    private readonly asking: Pick<QueryClient, 'ask' | 'end' | 'partitions'>,
    private readonly now: () => Date,
    private readonly withinMs = PAGE_WITHIN_MS,
  ) {}

  /** @throws Problem `unavailable` if no process answers for the first partition of the page */
  async page({ definition, limit, from, expected }: PageOptions): Promise<MemberPage> {
    const partitions = await this.asking.partitions();
    const until = performance.now() + this.withinMs;
    const members: Member[] = [];
    let position: MemberPosition | undefined = from;
    while (position && members.length < limit && performance.now() < until) {
      const wanted = limit - members.length;
      const asked = positionsToAsk(position, { partitions, wanted, expected });
      if (asked.length === 0) return { members, next: undefined };
      const { answers, isAcknowledged } = await this.#answers(
        { definition, limit: wanted, partitions: asked },
        until,
      );
      const part = joined(asked, answers, { wanted, partitions });
      members.push(...part.members);
      if (members.length === 0 && part.next === asked[0]) {
        throw silent(isAcknowledged, position.partition);
      }
      position = part.next;
    }
    return { members, next: position };
  }

  /**
   * Returns a member, or undefined. @throws Problem `unavailable` if a partition does not answer
   */
  async find(definition: string, user: string): Promise<Member | undefined> {
    const count = await this.asking.partitions();
    const partitions = Array.from({ length: count }, (_, partition) => ({ partition }));
    const until = performance.now() + this.withinMs;
    const { answers, isAcknowledged } = await this.#answers(
      { definition, limit: 1, partitions, user },
      until,
    );
    const found = [...answers.values()].flatMap(({ members }) => members).at(0);
    const missing = partitions.find(({ partition }) => !answers.has(partition));
    if (!found && missing) throw silent(isAcknowledged, missing.partition);
    return found;
  }

  /**
   * Collects answers until all partitions have answered, the user is found, or the time is over.
   */
  async #answers(asked: Omit<MembersQuery, 'kind' | 'id' | 'expiresAt'>, until: number) {
    const waitMs = Math.max(0, until - performance.now());
    const now = this.now();
    const id = newId('qst', now);
    const answers = new Map<number, MembersResult>();
    let isAcknowledged = false;
    let settle: () => void = () => undefined;
    const settled = new Promise<void>((resolve) => (settle = resolve));
    const timer = setTimeout(settle, waitMs);
    const hear = (answer: ProfileResult) => {
      isAcknowledged = true;
      if (answer.kind !== 'members') return;
      // For a partition that has just moved, two processes may answer; both are right.
      if (!answers.has(answer.partition)) answers.set(answer.partition, answer);
      const found = asked.user !== undefined && answer.members.length > 0;
      if (found || answers.size === asked.partitions.length) settle();
    };
    try {
      await this.asking.ask(
        { kind: 'members', id, expiresAt: now.getTime() + this.withinMs, ...asked },
        hear,
      );
      await settled;
    } finally {
      clearTimeout(timer);
      this.asking.end(id, {
        withdraw: answers.size < asked.partitions.length,
        nowMs: this.now().getTime(),
      });
    }
    return { answers, isAcknowledged };
  }
}

/** Returns the partitions that should fill the page, so that they are queried together. */
export function positionsToAsk(
  from: MemberPosition,
  {
    partitions,
    wanted,
    expected,
  }: { partitions: number; wanted: number; expected: ReadonlyMap<number, number> },
): MemberPosition[] {
  const positions: MemberPosition[] = from.partition < partitions ? [from] : [];
  let known = from.after === undefined ? (expected.get(from.partition) ?? 0) : 0;
  for (let partition = from.partition + 1; partition < partitions && known < wanted; partition++) {
    positions.push({ partition });
    known += expected.get(partition) ?? 0;
  }
  return positions;
}

/**
 * Joins the members in order, up to the first partition without an answer or the end of the page.
 */
function joined(
  asked: readonly MemberPosition[],
  answers: ReadonlyMap<number, MembersResult>,
  { wanted, partitions }: { wanted: number; partitions: number },
): MemberPage {
  const members: Member[] = [];
  for (const position of asked) {
    const answer = answers.get(position.partition);
    if (!answer || members.length >= wanted) return { members, next: position };
    const taken = answer.members.slice(0, wanted - members.length);
    members.push(...taken);
    const last = taken.at(-1)?.userId ?? position.after;
    if (!answer.end || taken.length < answer.members.length) {
      return {
        members,
        next: {
          partition: position.partition,
          ...defined({ after: last }),
        },
      };
    }
  }
  const behind = (asked.at(-1)?.partition ?? partitions) + 1;
  return { members, next: behind < partitions ? { partition: behind } : undefined };
}

function silent(isAcknowledged: boolean, partition: number): Problem {
  if (!isAcknowledged) return nobodyThere();
  const detail =
    `No audiences process owns partition ${partition} of profiles at the moment. Try again ` +
    'shortly';
  return new Problem('unavailable', detail, { headers: { 'Retry-After': '2' } });
}
