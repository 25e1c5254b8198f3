import { type ByteReader, type ByteWriter } from './bytes';

/**
 * The metadata request (https://kafka.apache.org/protocol), in a version that kafkajs lacks: with
 * the ids of topics, which differ after a topic was deleted and made again, and the epochs of
 * leaders, which differ after an election.
 */

export const METADATA = { key: 3, version: 12, flexible: true };

/** The leader of a partition without one. */
export const NO_NODE = -1;

const ID_BYTES = 16;
const NO_ID = Buffer.alloc(ID_BYTES);

export interface TopicMetadata {
  /** 0, or the error that metadata has for the topic */
  errorCode: number;
  /** hexadecimal */
  id: string;
  partitions: PartitionMetadata[];
}

interface PartitionMetadata {
  /** id of the leading broker; NO_NODE without one */
  leader: number;
  /** rises with each election of a leader */
  epoch: number;
}

/** @param topics full names */
export function writeMetadata(to: ByteWriter, topics: readonly string[]): void {
  to.compactArray(topics, (topic) => {
    to.raw(NO_ID, ID_BYTES);
    to.compact(topic);
    to.noTags();
  });
  to.int8(0); // creates no topic
  to.int8(0); // asks for no permissions
  to.noTags();
}

/** @returns by full name */
export function readMetadata(from: ByteReader): Map<string, TopicMetadata> {
  from.int32(); // throttle time
  from.compactArray(() => {
    from.int32();
    from.compactString();
    from.int32();
    from.compactString();
    from.skipTags();
  });
  from.compactString(); // id of the cluster
  from.int32(); // controller
  const topics = from.compactArray((): [string, TopicMetadata] => {
    const errorCode = from.int16();
    const name = from.compactString();
    const id = readTopicId(from);
    from.int8(); // internal
    const partitions: PartitionMetadata[] = [];
    from.compactArray(() => readPartition(from, partitions));
    from.int32();
    from.skipTags();
    return [name, { errorCode, id, partitions }];
  });
  return new Map(topics);
}

function readPartition(from: ByteReader, to: PartitionMetadata[]): void {
  from.int16();
  const partition = from.int32();
  const leader = from.int32();
  to[partition] = { leader, epoch: from.int32() };
  for (let lists = 3; lists > 0; lists--) from.compactArray(() => from.int32()); // replicas
  from.skipTags();
}

export function readTopicId(from: ByteReader): string {
  return from.buffer.toString('hex', from.at, (from.at += ID_BYTES));
}

export function writeTopicId(to: ByteWriter, id: string): void {
  to.raw(Buffer.from(id, 'hex'), ID_BYTES);
}
