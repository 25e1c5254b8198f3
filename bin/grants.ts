import {
  ATTEMPTS,
  CONFIG,
  DEAD,
  DELETIONS,
  DUE,
  LIMITED,
  MESSAGES,
  PROFILE_RESULTS,
  PROFILE_EVENTS,
  PROFILE_QUERIES,
  PROFILE_STATUS,
  PROFILES,
  RECALLS,
  REJECTED,
  TIER_PREFIX,
  WEBHOOKS,
} from '../shared/kafka/topics';
import { type Grant } from '../shared/kafka/client/acls';
import { SERVICES, type ServiceName } from './service-list';

/**
 * The access of each service in a Kafka with ACLs: one principal for each service, with no more
 * than it needs. An attacker in ingest, which faces the internet, can read no delivery; an attacker
 * in delivery can change no destination.
 */

/** The prefix of the tiers covers all of them, also future ones. */
const TOPICS = [
  MESSAGES,
  REJECTED,
  LIMITED,
  WEBHOOKS,
  DUE,
  RECALLS,
  TIER_PREFIX,
  DEAD,
  ATTEMPTS,
  CONFIG,
  DELETIONS,
  PROFILE_EVENTS,
  PROFILES,
  PROFILE_STATUS,
  PROFILE_QUERIES,
  PROFILE_RESULTS,
];

const NEEDS: Record<ServiceName, { reads: string[]; writes: string[] }> = {
  ingest: { reads: [CONFIG], writes: [MESSAGES, REJECTED, LIMITED] },
  router: { reads: [MESSAGES, CONFIG], writes: [WEBHOOKS, REJECTED, DEAD, ATTEMPTS] },
  delivery: {
    reads: [WEBHOOKS, DUE, CONFIG, DELETIONS],
    writes: [TIER_PREFIX, DEAD, ATTEMPTS, RECALLS],
  },
  retry: { reads: [TIER_PREFIX, RECALLS], writes: [DUE, DEAD, ATTEMPTS, RECALLS] },
  // Its output goes to `messages`, like any other message.
  audiences: {
    reads: [MESSAGES, CONFIG, DELETIONS, PROFILE_EVENTS, PROFILES, PROFILE_QUERIES],
    writes: [MESSAGES, PROFILE_EVENTS, PROFILES, PROFILE_STATUS, PROFILE_QUERIES, PROFILE_RESULTS],
  },
  // Control reads bodies from their topics. It writes test sends to `webhooks`, replays to
  // `webhooks.due`, deletions to `deletions`, `profiles.events` and `messages`, and uploaded
  // members to `profiles.events`.
  control: {
    reads: TOPICS,
    writes: [
      CONFIG,
      DELETIONS,
      MESSAGES,
      WEBHOOKS,
      DUE,
      RECALLS,
      DEAD,
      ATTEMPTS,
      PROFILE_EVENTS,
      PROFILE_QUERIES,
    ],
  },
};

/**
 * Returns the grants of a system, for the principals `<user>ingest`, `<user>router`, … and
 * `<user>topics`, which creates the topics and sets their retention. It reads `config` for the
 * windows of destinations.
 * @param prefix WAYPOST_TOPIC_PREFIX
 */
export function grantsOf(prefix: string, user: string): Grant[] {
  const services = Object.entries(NEEDS).flatMap(([service, { reads, writes }]) => {
    const principal = `User:${user}${service}`;
    const topics = TOPICS.map((topic): Grant => {
      const may: Grant['operations'] = [];
      if (reads.includes(topic)) may.push('Read');
      if (writes.includes(topic)) may.push('Write');
      // At its start each service checks that all topics exist with the right settings.
      return topicGrant(principal, prefix + topic, [...may, 'Describe', 'DescribeConfigs']);
    });
    // By prefix: a service may have several groups, as audiences has.
    const group = {
      resource: 'group',
      name: `${prefix}waypost-${service}`,
      prefixed: true,
    } as const;
    return [...topics, { principal, ...group, operations: ['Read'] } satisfies Grant];
  });
  const maker = `User:${user}topics`;
  return [
    ...TOPICS.map((topic) =>
      topicGrant(maker, prefix + topic, ['Create', 'Describe', 'DescribeConfigs', 'AlterConfigs']),
    ),
    topicGrant(maker, prefix + CONFIG, ['Read']),
    ...services,
  ];
}

function topicGrant(principal: string, name: string, operations: Grant['operations']): Grant {
  return { principal, resource: 'topic', name, prefixed: name.endsWith(TIER_PREFIX), operations };
}

/** Returns the names of the users: one for each service, and one that creates the topics. */
export function userNames(user: string): string[] {
  return [...SERVICES, 'topics'].map((name) => user + name);
}

/**
 * Returns a shell script that creates the grants, with the `kafka-acls.sh` of any Kafka. One
 * command covers all topics on which a principal has the same rights, because each command starts a
 * JVM.
 * @param servers KAFKA_BROKERS
 */
export function grantScript(grants: readonly Grant[], servers: string): string {
  const lines = new Map<string, string[]>();
  for (const { principal, resource, name, prefixed, operations } of grants) {
    const may = operations.map((operation) => `--operation ${operation}`).join(' ');
    const pattern = prefixed ? ' --resource-pattern-type prefixed' : '';
    const line = `acl --allow-principal ${principal} ${may}${pattern}`;
    lines.set(line, [...(lines.get(line) ?? []), `--${resource} ${name}`]);
  }
  const commands = [...lines].map(([line, names]) => [line, ...names].join(' '));
  return `${HEADER}
acl() {
  kafka-acls.sh --bootstrap-server ${servers} \\
    \${COMMAND_CONFIG:+--command-config "$COMMAND_CONFIG"} --add "$@"
}
${commands.join('\n')}
`;
}

const HEADER = `#!/bin/sh
# Grants each service of Waypost the access that it needs. Run it with Kafka's bin folder in PATH,
# as a user that may alter the cluster. If Kafka asks for a login, COMMAND_CONFIG names the file
# with it, such as admin.properties:
#   security.protocol=SASL_SSL
#   sasl.mechanism=SCRAM-SHA-512
#   sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\
#     username="admin" password="...";
# Each user that does not exist yet is made by
#   kafka-configs.sh --bootstrap-server ... --alter --entity-type users --entity-name NAME \\
#     --add-config 'SCRAM-SHA-512=[password=...]'
# The command \`topics --acls --scram-users FILE\` makes topics, grants and users in one go.
set -e`;
