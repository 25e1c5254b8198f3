import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launchBroker } from '../../dev/kafka/broker';
import { commandOutput } from '../../dev/kafka/java';
import { type JavaKafka } from '../../dev/kafka/kafka-source';
import { ROOT } from '../../shared/runtime/repo-root';

/**
 * Kafka's classes as a JVM has loaded them, in one file that other JVMs map into their memory. The
 * tests start eighty JVMs, and each needs half of the CPU time with it. A JVM that cannot use the
 * file, because a jar or the Java is another one, starts without it.
 */

const FOLDER = join(ROOT, 'node_modules', '.cache', 'waypost');
const STOP_MS = 60_000;

/**
 * Lets all JVMs of this process and its children use the archive, and makes it first if the Java or
 * the jars have changed.
 */
export async function giveClassArchive(kafka: JavaKafka): Promise<void> {
  const path = join(FOLDER, `kafka-classes-${await fingerprint(kafka)}.jsa`);
  if (!existsSync(path)) await makeArchive(kafka, path);
  const own = process.env.JAVA_TOOL_OPTIONS ?? '';
  process.env.JAVA_TOOL_OPTIONS = `${own} -XX:SharedArchiveFile=${path} -Xshare:auto`.trim();
}

/** Starts a broker that writes down its classes when it ends. */
async function makeArchive(kafka: JavaKafka, path: string): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  // Another run may make it at the same time.
  const draft = `${path}.${String(process.pid)}`;
  const dir = mkdtempSync(join(tmpdir(), 'waypost-test-classes-'));
  const broker = await launchBroker({
    ...kafka,
    dir,
    open: true,
    shortLived: true,
    flags: [`-XX:ArchiveClassesAtExit=${draft}`],
  });
  try {
    await broker.ready(STOP_MS);
  } finally {
    await broker.stop(STOP_MS);
    rmSync(dir, { recursive: true, force: true });
  }
  renameSync(draft, path);
}

async function fingerprint({ java, jars }: JavaKafka): Promise<string> {
  const hash = createHash('sha256').update(String(await commandOutput(java, ['-version'])));
  for (const name of readdirSync(jars)) {
    const { size, mtimeMs } = statSync(join(jars, name));
    hash.update(`${join(jars, name)} ${String(size)} ${String(mtimeMs)}\n`);
  }
  return hash.digest('hex').slice(0, 16);
}
