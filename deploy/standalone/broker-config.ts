import { join } from 'node:path';

/** Returns the configuration files of the embedded broker as text. */

/** The two listeners of a node that is both broker and controller. */
export interface BrokerPorts {
  broker: number;
  controller: number;
}

/**
 * Committed offsets must outlive the longest retention of a topic. Otherwise a service that was stopped for long
 * would start over.
 */
const OFFSETS_RETENTION_MINUTES = 30 * 24 * 60;

/**
 * Returns the properties of a single KRaft node on loopback.
 * @param where its ports, the folder of its records, and the address it listens on (default loopback; in a container
 * all)
 */
export function brokerProperties(where: { ports: BrokerPorts; logDir: string; host?: string }): Record<string, string> {
  const { ports, logDir, host = '127.0.0.1' } = where;
  return {
    'process.roles': 'broker,controller',
    'node.id': '1',
    'controller.quorum.voters': `1@127.0.0.1:${String(ports.controller)}`,
    'controller.listener.names': 'CONTROLLER',
    listeners: `PLAINTEXT://${host}:${String(ports.broker)},CONTROLLER://127.0.0.1:${String(ports.controller)}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${String(ports.broker)}`,
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
    'inter.broker.listener.name': 'PLAINTEXT',
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
    'num.network.threads': '2',
    'num.io.threads': '4',
    // By default the cleaner takes 128 MB of a 512 MB heap. This size holds 300,000 keys of a partition of profiles
    // at a time.
    'log.cleaner.dedupe.buffer.size': String(8 * 1024 * 1024),
  };
}

/**
 * Returns the configuration of log4j2. It logs to a file in the data dir, so that the terminal shows Waypost and not
 * its broker.
 */
export function loggingProperties(logFile: string): string {
  return propertiesText({
    status: 'error',
    'appender.file.type': 'RollingFile',
    'appender.file.name': 'file',
    'appender.file.fileName': logFile,
    'appender.file.filePattern': `${logFile}.%i`,
    'appender.file.layout.type': 'PatternLayout',
    'appender.file.layout.pattern': '%d %p %m (%c)%n',
    'appender.file.policies.type': 'Policies',
    'appender.file.policies.size.type': 'SizeBasedTriggeringPolicy',
    'appender.file.policies.size.size': '10MB',
    'appender.file.strategy.type': 'DefaultRolloverStrategy',
    'appender.file.strategy.max': '3',
    'rootLogger.level': 'warn',
    'rootLogger.appenderRef.file.ref': 'file',
    // Logs "started" and "shutting down", the most useful lines.
    'logger.server.name': 'kafka.server.KafkaRaftServer',
    'logger.server.level': 'info',
  });
}

/**
 * Compiles quickly but not as well: halves the CPU time of a start, for a short-lived JVM. Omit it for a JVM under
 * load.
 */
export const SHORT_LIVED = '-XX:TieredStopAtLevel=1';

/** Returns the arguments of `java`. The caller adds a class and its arguments. */
export function javaArguments(jars: string, loggingFile: string): string[] {
  return [
    // Allocate the whole heap at the start: before the JVM grows a heap, it runs a full collection, which pauses the
    // broker.
    '-Xms512m',
    '-Xmx512m',
    '-XX:+UseSerialGC',
    // A collection of young objects pauses the broker. Objects that survive two collections live long here. Copying
    // them fifteen times took 25 ms every three seconds under load; now it takes half of that every six seconds.
    '-XX:MaxTenuringThreshold=1',
    '-Xmn256m',
    // A broker without memory must end, so that the supervisor restarts it.
    '-XX:+ExitOnOutOfMemoryError',
    '-Djava.awt.headless=true',
    `-Dlog4j2.configurationFile=${loggingFile}`,
    '-cp',
    join(jars, '*'),
  ];
}

/** Formats a properties file, in which a backslash is an escape character. */
export function propertiesText(properties: Record<string, string>): string {
  return Object.entries(properties)
    .map(([key, value]) => `${key}=${value.replaceAll('\\', '\\\\')}\n`)
    .join('');
}
