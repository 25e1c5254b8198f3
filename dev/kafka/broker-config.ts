import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type BrokerLogin, loginProperties } from './broker-login';

/** Returns the configuration files of the embedded broker as text. */

/** The two listeners of a node that is both broker and controller. */
export interface BrokerPorts {
  broker: number;
  controller: number;
}

/**
 * Committed offsets must outlive the longest retention of a topic. Otherwise a service that was
 * stopped for long would start over.
 */
const OFFSETS_RETENTION_MINUTES = 30 * 24 * 60;

/**
 * Returns the properties of a single KRaft node on loopback.
 * @param where its ports, the folder of its records, and the login for both ports; without one, for
 *   tests, every process of the machine may do everything
 */
export function brokerProperties(where: {
  ports: BrokerPorts;
  logDir: string;
  login?: BrokerLogin | undefined;
}): Record<string, string> {
  const { ports, logDir, login } = where;
  const protocol = login ? 'SASL_PLAINTEXT' : 'PLAINTEXT';
  return {
    ...loginProperties(login),
    'process.roles': 'broker,controller',
    'node.id': '1',
    'controller.quorum.voters': `1@127.0.0.1:${String(ports.controller)}`,
    'controller.listener.names': 'CONTROLLER',
    listeners: `${protocol}://127.0.0.1:${String(ports.broker)},CONTROLLER://127.0.0.1:${String(ports.controller)}`,
    'advertised.listeners': `${protocol}://127.0.0.1:${String(ports.broker)}`,
    'listener.security.protocol.map': `CONTROLLER:${protocol},${protocol}:${protocol}`,
    'inter.broker.listener.name': protocol,
    'log.dirs': logDir,
    'auto.create.topics.enable': 'false',
    'unclean.leader.election.enable': 'false',
    'log.message.timestamp.type': 'LogAppendTime',
    'offsets.retention.minutes': String(OFFSETS_RETENTION_MINUTES),
    // A single broker must hold the internal topics alone.
    'offsets.topic.replication.factor': '1',
    'offsets.topic.num.partitions': '3',
    'transaction.state.log.replication.factor': '1',
    'transaction.state.log.min.isr': '1',
    'transaction.state.log.num.partitions': '3',
    'share.coordinator.state.topic.replication.factor': '1',
    'share.coordinator.state.topic.min.isr': '1',
    // A group has few members, and each start would wait 3 s for more of them.
    'group.initial.rebalance.delay.ms': '0',
    // The controller writes a record for its followers twice a second by default. A single node has
    // none, and the records are a third of the CPU of an idle broker.
    'metadata.max.idle.interval.ms': '10000',
    'num.network.threads': '2',
    'num.io.threads': '4',
    // By default the cleaner takes 128 MB of a 512 MB heap. This size holds 300,000 keys of a
    // partition of profiles at a time.
    'log.cleaner.dedupe.buffer.size': String(8 * 1024 * 1024),
  };
}

/**
 * Returns the configuration of log4j2.
 * @param logFile a file in the data dir, so that the terminal shows Waypost and not its broker;
 *   default: stdout
 */
export function loggingProperties(logFile?: string): string {
  return propertiesText({
    status: 'error',
    ...prefixed('appender.log', {
      name: 'log',
      'layout.type': 'PatternLayout',
      'layout.pattern': '%d %p %m (%c)%n',
      ...(logFile === undefined ? { type: 'Console' } : rollingFile(logFile)),
    }),
    'rootLogger.level': 'warn',
    'rootLogger.appenderRef.log.ref': 'log',
    // Logs "started" and "shutting down", the most useful lines.
    'logger.server.name': 'kafka.server.KafkaRaftServer',
    'logger.server.level': 'info',
  });
}

function rollingFile(logFile: string): Record<string, string> {
  return {
    type: 'RollingFile',
    fileName: logFile,
    filePattern: `${logFile}.%i`,
    'policies.type': 'Policies',
    'policies.size.type': 'SizeBasedTriggeringPolicy',
    'policies.size.size': '10MB',
    'strategy.type': 'DefaultRolloverStrategy',
    'strategy.max': '3',
  };
}

function prefixed(prefix: string, properties: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(properties).map(([key, value]) => [`${prefix}.${key}`, value]),
  );
}

/**
 * Returns a random id to format a folder with: 16 bytes in base64url, where a leading hyphen would
 * parse as an option.
 */
export function newClusterId(): string {
  return `A${randomBytes(16).toString('base64url').slice(1)}`;
}

/**
 * Compiles quickly but not as well: halves the CPU time of a start, for a short-lived JVM. Omit it
 * for a JVM under load.
 */
export const SHORT_LIVED = '-XX:TieredStopAtLevel=1';

/** Returns the arguments of `java`. The caller adds a class and its arguments. */
export function javaArguments(jars: string, loggingFile: string): string[] {
  return [
    // The JVM collects old objects once the heap is full. 40 to 60 MB are live, so at 440 calls a
    // second it does this every five minutes and pauses for 0.1 s. The heap grows only if more is
    // live.
    '-Xms192m',
    '-Xmx512m',
    '-XX:+UseSerialGC',
    // The JVM never returns the pages of young objects, and an idle broker fills them, too. To
    // collect them takes 9 ms, with 32 MB as with 64, every 1.5 s at 440 calls a second. An object
    // that survives four collections is old. With one, 20 MB a minute became old.
    '-Xmn32m',
    '-XX:MaxTenuringThreshold=4',
    // The statistics for tools like jstat wake the JVM twenty times a second.
    '-XX:-UsePerfData',
    // A broker without memory must end, so that the supervisor restarts it.
    '-XX:+ExitOnOutOfMemoryError',
    '-Djava.awt.headless=true',
    `-Dlog4j2.configurationFile=${loggingFile}`,
    '-cp',
    join(jars, '*'),
  ];
}

/**
 * Formats a properties file, in which a backslash is an escape character and a line ends a value.
 */
export function propertiesText(properties: Record<string, string>): string {
  return Object.entries(properties)
    .map(([key, value]) => `${key}=${value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}\n`)
    .join('');
}
