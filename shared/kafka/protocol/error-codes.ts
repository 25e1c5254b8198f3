/** The errors of Kafka that a consumer acts on (https://kafka.apache.org/protocol). */
export const ERROR = {
  offsetOutOfRange: 1,
  corruptMessage: 2,
  unknownTopic: 3,
  metadataTooLarge: 12,
  coordinatorLoading: 14,
  noCoordinator: 15,
  notCoordinator: 16,
  illegalGeneration: 22,
  unknownMember: 25,
  rebalancing: 27,
  topicForbidden: 29,
  groupForbidden: 30,
  memberIdRequired: 79,
} as const;

/** Kafka answered with an error. */
export class KafkaError extends Error {
  constructor(
    what: string,
    readonly errorCode: number,
  ) {
    super(`${what}: Kafka answers with error ${String(errorCode)}`);
  }
}
