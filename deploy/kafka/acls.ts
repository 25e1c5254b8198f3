import {
  ATTEMPTS,
  CONFIG,
  DEAD,
  DUE,
  LIMITED,
  MESSAGES,
  PROFILE_ANSWERS,
  PROFILE_EVENTS,
  PROFILE_QUESTIONS,
  PROFILE_STATUS,
  PROFILES,
  REJECTED,
  TIER_PREFIX,
  WEBHOOKS,
} from '../../shared/kafka/topics';
import { type ServiceName } from '../standalone/service-list';

/**
 * What each service may do in a Kafka that asks: one principal a service, and no more than it needs. Whoever takes over
 * ingest, which faces the world, can read no delivery; whoever takes over delivery can change no destination.
 */

type Operation = 'Read' | 'Write' | 'Create' | 'Delete' | 'Describe' | 'DescribeConfigs';

/** One grant, as Kafka has it. A name that is a prefix stands for all that begin with it. */
export interface Grant {
  principal: string;
  resource: 'topic' | 'group';
  name: string;
  prefixed: boolean;
  operations: Operation[];
}

/** The tiers' stands for all of them, those to come included. */
const TOPICS = [
  MESSAGES,
  REJECTED,
  LIMITED,
  WEBHOOKS,
  DUE,
  TIER_PREFIX,
  DEAD,
  ATTEMPTS,
  CONFIG,
  PROFILE_EVENTS,
  PROFILES,
  PROFILE_STATUS,
  PROFILE_QUESTIONS,
  PROFILE_ANSWERS,
];

const NEEDS: Record<ServiceName, { reads: string[]; writes: string[] }> = {
  ingest: { reads: [CONFIG], writes: [MESSAGES, REJECTED, LIMITED] },
  router: { reads: [MESSAGES, CONFIG], writes: [WEBHOOKS, REJECTED] },
  delivery: { reads: [WEBHOOKS, DUE, CONFIG], writes: [TIER_PREFIX, DEAD, ATTEMPTS] },
  retry: { reads: [TIER_PREFIX], writes: [DUE] },
  // What it tells are messages like any other.
  audiences: {
    reads: [MESSAGES, CONFIG, PROFILE_EVENTS, PROFILES, PROFILE_QUESTIONS],
    writes: [MESSAGES, PROFILE_EVENTS, PROFILES, PROFILE_STATUS, PROFILE_ANSWERS],
  },
  // It shows bodies where they lie; test sends go to `webhooks`, replays to `webhooks.due`, deletions to `messages`, members
  // from elsewhere to `profiles.events`.
  control: { reads: TOPICS, writes: [CONFIG, MESSAGES, WEBHOOKS, DUE, ATTEMPTS, PROFILE_EVENTS, PROFILE_QUESTIONS] },
};

/**
 * The grants of a system, for the principals `<user>ingest`, `<user>router`, … and `<user>topics`, which makes the topics.
 * @param prefix WAYPOST_TOPIC_PREFIX
 */
export function grantsOf(prefix: string, user: string): Grant[] {
  const services = Object.entries(NEEDS).flatMap(([service, { reads, writes }]) => {
    const principal = `User:${user}${service}`;
    const topics = TOPICS.map((topic): Grant => {
      const may: Operation[] = [];
      if (reads.includes(topic)) may.push('Read');
      if (writes.includes(topic)) may.push('Write');
      // Each service looks at its start whether all topics are there and as they should be.
      return topicGrant(principal, prefix + topic, [...may, 'Describe', 'DescribeConfigs']);
    });
    // By prefix, and with Delete: processes of older versions read `config` by groups with random names, and delete them.
    const group = { resource: 'group', name: `${prefix}waypost-${service}`, prefixed: true } as const;
    return [...topics, { principal, ...group, operations: ['Read', 'Delete'] } satisfies Grant];
  });
  const maker = `User:${user}topics`;
  return [
    ...TOPICS.map((topic) => topicGrant(maker, prefix + topic, ['Create', 'Describe', 'DescribeConfigs'])),
    ...services,
  ];
}

function topicGrant(principal: string, name: string, operations: Operation[]): Grant {
  return { principal, resource: 'topic', name, prefixed: name.endsWith(TIER_PREFIX), operations };
}

/** The commands that make the grants, for the `kafka-acls.sh` of any Kafka. @param servers KAFKA_BROKERS */
export function grantCommands(grants: Grant[], servers: string): string[] {
  return grants.map(({ principal, resource, name, prefixed, operations }) =>
    [
      `kafka-acls.sh --bootstrap-server ${servers} --command-config admin.properties --add`,
      `--allow-principal ${principal}`,
      ...operations.map((operation) => `--operation ${operation}`),
      `--${resource} ${name}`,
      ...(prefixed ? ['--resource-pattern-type prefixed'] : []),
    ].join(' '),
  );
}
