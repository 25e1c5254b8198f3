import {
  ATTEMPTS,
  CONFIG,
  DEAD,
  DUE,
  LIMITED,
  MESSAGES,
  PROFILE_RESULTS,
  PROFILE_EVENTS,
  PROFILE_QUERIES,
  PROFILE_STATUS,
  PROFILES,
  REJECTED,
  TIER_PREFIX,
  WEBHOOKS,
} from '../../shared/kafka/topics';
import { type ServiceName } from '../standalone/service-list';

/**
 * The access of each service in a Kafka with ACLs: one principal for each service, with no more than it needs. An
 * attacker in ingest, which faces the internet, can read no delivery; an attacker in delivery can change no
 * destination.
 */

type Operation = 'Read' | 'Write' | 'Create' | 'Delete' | 'Describe' | 'DescribeConfigs';

/** One grant of Kafka. A prefixed name covers every name that begins with it. */
export interface Grant {
  principal: string;
  resource: 'topic' | 'group';
  name: string;
  prefixed: boolean;
  operations: Operation[];
}

/** The prefix of the tiers covers all of them, also future ones. */
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
  PROFILE_QUERIES,
  PROFILE_RESULTS,
];

const NEEDS: Record<ServiceName, { reads: string[]; writes: string[] }> = {
  ingest: { reads: [CONFIG], writes: [MESSAGES, REJECTED, LIMITED] },
  router: { reads: [MESSAGES, CONFIG], writes: [WEBHOOKS, REJECTED] },
  delivery: { reads: [WEBHOOKS, DUE, CONFIG], writes: [TIER_PREFIX, DEAD, ATTEMPTS] },
  retry: { reads: [TIER_PREFIX], writes: [DUE] },
  // Its output goes to `messages`, like any other message.
  audiences: {
    reads: [MESSAGES, CONFIG, PROFILE_EVENTS, PROFILES, PROFILE_QUERIES],
    writes: [MESSAGES, PROFILE_EVENTS, PROFILES, PROFILE_STATUS, PROFILE_RESULTS],
  },
  // Control reads bodies from their topics. It writes test sends to `webhooks`, replays to `webhooks.due`, deletions
  // to `messages`, and uploaded members to `profiles.events`.
  control: { reads: TOPICS, writes: [CONFIG, MESSAGES, WEBHOOKS, DUE, ATTEMPTS, PROFILE_EVENTS, PROFILE_QUERIES] },
};

/**
 * Returns the grants of a system, for the principals `<user>ingest`, `<user>router`, … and `<user>topics`, which
 * creates the topics.
 * @param prefix WAYPOST_TOPIC_PREFIX
 */
export function grantsOf(prefix: string, user: string): Grant[] {
  const services = Object.entries(NEEDS).flatMap(([service, { reads, writes }]) => {
    const principal = `User:${user}${service}`;
    const topics = TOPICS.map((topic): Grant => {
      const may: Operation[] = [];
      if (reads.includes(topic)) may.push('Read');
      if (writes.includes(topic)) may.push('Write');
      // At its start each service checks that all topics exist with the right settings.
      return topicGrant(principal, prefix + topic, [...may, 'Describe', 'DescribeConfigs']);
    });
    // By prefix, and with Delete: processes of older versions read `config` in groups with random names, and delete
    // them.
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

/**
 * Returns the commands that create the grants, for the `kafka-acls.sh` of any Kafka.
 * @param servers KAFKA_BROKERS
 */
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
