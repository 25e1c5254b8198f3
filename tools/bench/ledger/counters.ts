import { renameSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { GCProfiler, getHeapStatistics } from 'node:v8';
import { isMainThread } from 'node:worker_threads';

/**
 * Loaded into a service by NODE_OPTIONS: counts what its main thread does, for the ledger. It
 * writes its counts to a file at each SIGUSR2. It counts at the edges of the process, so that the
 * code of the service does not know of it.
 */

/** This file, for `--require`. */
export const COUNTERS_MAIN = __filename;
/** The variables that name the folder of the files, and the port of the broker. */
export const LEDGER_DIR = 'BENCH_LEDGER_DIR';
export const LEDGER_KAFKA_PORT = 'BENCH_LEDGER_KAFKA_PORT';

/** What one process has done since its start, by name. */
export type Counts = Record<string, number>;

/** Requests to Kafka are counted under this and their kind. */
export const REQUEST = 'Kafka: ';

/** https://kafka.apache.org/protocol#protocol_api_keys */
const KINDS: Readonly<Record<number, string>> = {
  0: 'Produce',
  1: 'Fetch',
  2: 'ListOffsets',
  3: 'Metadata',
  8: 'OffsetCommit',
  9: 'OffsetFetch',
  10: 'FindCoordinator',
  11: 'JoinGroup',
  12: 'Heartbeat',
  13: 'LeaveGroup',
  14: 'SyncGroup',
  15: 'DescribeGroups',
  18: 'ApiVersions',
  23: 'OffsetForLeaderEpoch',
  32: 'DescribeConfigs',
};
/** A request begins with its size, its key and its version. */
const KEY_AT = 4;

const counts: Counts = {};

function add(name: string, by: number): void {
  counts[name] = (counts[name] ?? 0) + by;
}

type Plain = (...given: never[]) => unknown;

/** Calls `note` before each call of a method. */
function before(
  owner: object,
  name: string,
  note: (self: unknown, given: unknown[]) => void,
): void {
  const methods = owner as Record<string, Plain>;
  const original = methods[name];
  if (!original) throw new Error(`there is no ${name}`);
  const noted = function (this: unknown, ...given: unknown[]) {
    note(this, given);
    return original.apply(this, given as never[]);
  };
  methods[name] = Object.defineProperties(noted, Object.getOwnPropertyDescriptors(original));
}

/** kafkajs and Waypost's own client write each request with one call. */
function countRequests(port: number): void {
  before(Socket.prototype, 'write', (self, [bytes]) => {
    if ((self as Socket).remotePort !== port || !Buffer.isBuffer(bytes)) return;
    const key = bytes.readInt16BE(KEY_AT);
    add(REQUEST + (KINDS[key] ?? String(key)), 1);
  });
}

function countTimers(): void {
  for (const name of ['setTimeout', 'setInterval']) {
    before(globalThis, name, (_self, given) => {
      const callback = given[0] as Plain;
      given[0] = (...more: never[]) => {
        add('timers', 1);
        callback(...more);
      };
    });
  }
}

function countJson(): void {
  before(JSON, 'parse', (_self, [text]) => {
    add('JSON texts read', 1);
    add('JSON characters read', String(text).length);
  });
  const write = JSON.stringify.bind(JSON) as (...given: unknown[]) => string | undefined;
  JSON.stringify = (...given: unknown[]) => {
    const text = write(...given);
    add('JSON texts written', 1);
    add('JSON characters written', text?.length ?? 0);
    return text as string;
  };
}

function countCopies(): void {
  const copied = (bytes: number) => add('bytes copied', bytes);
  before(Buffer, 'concat', (_self, [parts]) => {
    for (const part of parts as Uint8Array[]) copied(part.length);
  });
  before(Buffer, 'from', (_self, [of]) => {
    if (of instanceof Uint8Array) copied(of.length);
  });
  before(Buffer.prototype as object, 'copy', (self) => copied((self as Buffer).length));
}

/** Adds what was allocated between collections, since the last call. */
function countAllocations(): () => void {
  let profiler = new GCProfiler();
  const used = () => getHeapStatistics().used_heap_size;
  let heldBytes = used();
  profiler.start();
  return () => {
    const { statistics } = profiler.stop();
    let allocated = 0;
    for (const { beforeGC, afterGC } of statistics) {
      allocated += beforeGC.heapStatistics.usedHeapSize - heldBytes;
      heldBytes = afterGC.heapStatistics.usedHeapSize;
    }
    const now = used();
    add('bytes allocated', allocated + now - heldBytes);
    heldBytes = now;
    profiler = new GCProfiler();
    profiler.start();
  };
}

function writeAtSignal(dir: string, update: () => void): void {
  const file = join(dir, `${String(process.pid)}.json`);
  process.on('SIGUSR2', () => {
    update();
    writeFileSync(`${file}.part`, JSON.stringify(counts));
    renameSync(`${file}.part`, file);
  });
}

const { [LEDGER_DIR]: dir, [LEDGER_KAFKA_PORT]: port } = process.env;
if (dir && port && isMainThread) {
  countRequests(Number(port));
  countTimers();
  countJson();
  countCopies();
  writeAtSignal(dir, countAllocations());
}
