import { type MetricInfo } from '../telemetry/metrics';

/** Names, meanings and labels of the metrics about Kafka. `metrics.ts` measures them. */

const TOPIC = { 'messaging.destination.name': 'the topic, without the prefix' };
const SEND = { 'messaging.system': '`kafka`', 'messaging.operation.name': '`send`' };
const POLL = { 'messaging.system': '`kafka`', 'messaging.operation.name': '`poll`' };
const GROUP = { group: 'the group' };
const GROUP_AND_TOPIC = { ...GROUP, topic: 'the topic' };
const TIER = { tier: '`10s`, `1m`, …' };

export const KAFKA_METRICS = {
  sent: {
    name: 'messaging.client.sent.messages',
    help: 'Records that Kafka acknowledged.',
    labels: { ...SEND, ...TOPIC },
  },
  consumed: {
    name: 'messaging.client.consumed.messages',
    help: 'Records that a consumer group read.',
    labels: { ...POLL, ...TOPIC, 'messaging.consumer.group.name': 'the group' },
  },
  missed: {
    name: 'waypost.consumer.missed',
    help:
      'Offsets that retention deleted before the group had finished them. The consumer continues ' +
      'with the records that exist.',
    labels: { ...GROUP_AND_TOPIC, reason: '`retention`' },
  },
  cut: {
    name: 'waypost.log.cut',
    help:
      'Offsets that the group had read, and that were then cut off the log: by a power cut, an ' +
      'unclean election, a restored copy, or because the topic was made again. It goes on at the ' +
      'first record that was appended later; `config` is read anew.',
    labels: { group: 'the group, or the reader of a whole topic', topic: 'the topic' },
  },
  duration: {
    name: 'messaging.client.operation.duration',
    help: 'Duration of one produce request.',
    unit: 's',
    labels: { ...SEND, 'error.type': 'absent, or `failed`' },
  },
  pending: {
    name: 'waypost.producer.pending',
    help:
      'Bytes that wait for an acknowledgement of Kafka, without up to 1 MB of each blocked ' +
      'partition.',
    unit: 'By',
  },
  limit: {
    name: 'waypost.producer.limit',
    help:
      'Most pending bytes. Ingest and control refuse calls beyond it. ' +
      '`waypost_producer_pending_bytes / waypost_producer_limit_bytes` is the fill.',
    unit: 'By',
  },
  oldestPending: {
    name: 'waypost.producer.oldest',
    help: 'Wait of the oldest pending record; 0 without pending records.',
    unit: 's',
  },
  blocked: {
    name: 'waypost.producer.blocked',
    help:
      'Partitions that have accepted no records for a second. They block no other partition. ' +
      'Their records wait, up to 1 MB each beside the limit, or go to another partition.',
    labels: {
      ...TOPIC,
      reason: 'the error of Kafka, `BROKER_UNREACHABLE`, `NO_ANSWER`',
    },
  },
  spilled: {
    name: 'waypost.producer.diverted',
    help: 'Records written to a partition other than the one of their key, which was blocked.',
    labels: TOPIC,
  },
  lag: {
    name: 'waypost.consumer.lag',
    help:
      'Unfinished records up to the end of the topic, over the partitions of this process ' +
      'and, at one member of the group, over those without a reader. Take the sum over ' +
      'processes. The process asks the broker at most every 5 s.',
    labels: GROUP_AND_TOPIC,
  },
  oldest: {
    name: 'waypost.consumer.oldest',
    help:
      'Age of the oldest unfinished record that this process has read or refused for now, or ' +
      'that has no reader. Take the maximum. For `messages` it is the age of the oldest ' +
      'unrouted record, for `webhooks` of the oldest undelivered one.',
    unit: 's',
    labels: GROUP_AND_TOPIC,
  },
  retention: {
    name: 'waypost.consumer.retention',
    help:
      'Retention of the topic in Kafka; absent if it has no limit. A group that falls ' +
      'further behind loses records.',
    unit: 's',
    labels: GROUP_AND_TOPIC,
  },
  unassigned: {
    name: 'waypost.consumer.unassigned',
    help:
      'Partitions that no member of the group reads, as this process sees the group. Take ' +
      'the maximum. A few seconds above 0 are normal while members join or leave.',
    labels: GROUP_AND_TOPIC,
  },
  open: {
    name: 'waypost.consumer.open',
    help: 'Records that were read and are unfinished.',
    labels: GROUP,
  },
  joined: {
    name: 'waypost.consumer.joined',
    help: '1 while the process is a member of its group.',
    labels: GROUP,
  },
  turned: {
    name: 'waypost.consumer.poll.age',
    help: 'Time since the last turn of the consumer loop. Beyond 60, `/livez` fails.',
    unit: 's',
    labels: GROUP,
  },
  partitions: {
    name: 'waypost.consumer.partitions',
    help:
      'Partitions of this process that it has read from or that have a committed offset. ' +
      '`resting`: paused, because the process is full or because the head of a tier is not ' +
      'due.',
    labels: { ...GROUP_AND_TOPIC, state: '`reading`, `resting`, `leaving`' },
  },
  overdue: {
    name: 'waypost.retry.overdue',
    help: 'Time since the oldest due delivery of a tier fell due; 0 without one.',
    unit: 's',
    labels: TIER,
  },
} as const satisfies Record<string, MetricInfo>;
