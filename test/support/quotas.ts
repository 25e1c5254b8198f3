import { once } from 'node:events';
import { connect } from 'node:net';

/** What a quota limits, as Kafka names it. */
type Quota = 'consumer_byte_rate' | 'producer_byte_rate';

/**
 * Sets a quota of a client at a broker by Kafka's AlterClientQuotas (key 49, version 0), which
 * kafkajs lacks.
 * @param bytesPerSecond undefined removes the quota
 */
export async function setQuota(
  brokers: string,
  clientId: string,
  name: Quota,
  bytesPerSecond?: number,
): Promise<void> {
  const [host, port] = brokers.split(',')[0]!.split(':');
  const text = (value: string) =>
    Buffer.concat([int16(Buffer.byteLength(value)), Buffer.from(value)]);
  const quota = Buffer.alloc(8);
  quota.writeDoubleBE(bytesPerSecond ?? 0);
  const remove = Buffer.from([bytesPerSecond === undefined ? 1 : 0]);
  const validateOnly = Buffer.from([0]);
  const request = Buffer.concat([
    int16(49),
    int16(0),
    int32(1),
    text('test'),
    int32(1),
    int32(1),
    text('client-id'),
    text(clientId),
    int32(1),
    text(name),
    quota,
    remove,
    validateOnly,
  ]);
  const socket = connect(Number(port), host);
  socket.write(Buffer.concat([int32(request.length), request]));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  // The error code follows length, correlation id, throttle time and the number of entries.
  const error = answer.readInt16BE(16);
  if (error !== 0) throw new Error(`the quota was not set: Kafka error ${String(error)}`);
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}
