import { join } from 'node:path';

/** The configuration files of the embedded broker, as text. */

/** The two listeners of a node that is broker and controller at once. */
export interface BrokerPorts {
  broker: number;
  controller: number;
}

/** Committed offsets must outlive the longest retention of a topic, else a service that was away starts over. */
const OFFSETS_RETENTION_MINUTES = 30 * 24 * 60;

/**
 * The properties of a single KRaft node that is reached by loopback.
 * @param where its ports, the folder of its records, and the address it listens on (default loopback; in a container all)
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
    // Alone, it must hold the internal topics by itself.
    'offsets.topic.replication.factor': '1',
    'offsets.topic.num.partitions': '3',
    'transaction.state.log.replication.factor': '1',
    'transaction.state.log.min.isr': '1',
    'transaction.state.log.num.partitions': '3',
    'share.coordinator.state.topic.replication.factor': '1',
    'share.coordinator.state.topic.min.isr': '1',
    // There are few members, and each start would wait 3 s for more of them.
    'group.initial.rebalance.delay.ms': '0',
    'num.network.threads': '2',
    'num.io.threads': '4',
    // The cleaner takes 128 MB of a 512 MB heap by default. Of a partition of profiles this holds 300,000 keys at a time.
    'log.cleaner.dedupe.buffer.size': String(8 * 1024 * 1024),
  };
}

/** The configuration of log4j2, which writes to a file in the data dir, so that a terminal shows Waypost and not its broker. */
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
    // Says "started" and "shutting down", which is what one looks for.
    'logger.server.name': 'kafka.server.KafkaRaftServer',
    'logger.server.level': 'info',
  });
}

/**
 * Compiles quickly and not so well: halves the CPU time of a start, for a JVM that lives shortly. One that is to carry
 * load goes without.
 */
export const SHORT_LIVED = '-XX:TieredStopAtLevel=1';

/** The arguments of `java`, to which a class and its own arguments are added. */
export function javaArguments(jars: string, loggingFile: string): string[] {
  return [
    // All of it from the start: before it grows a heap is collected whole, and nobody is served meanwhile.
    '-Xms512m',
    '-Xmx512m',
    '-XX:+UseSerialGC',
    // Nobody is served while young objects are collected. Those that outlive two collections live long here: to copy them
    // fifteen times first made it 25 ms, every three seconds under load, where it is half of that every six.
    '-XX:MaxTenuringThreshold=1',
    '-Xmn256m',
    // Half-dead is worse than dead: the supervisor starts it again.
    '-XX:+ExitOnOutOfMemoryError',
    '-Djava.awt.headless=true',
    `-Dlog4j2.configurationFile=${loggingFile}`,
    '-cp',
    join(jars, '*'),
  ];
}

/** The text of a properties file, in which a backslash escapes. */
export function propertiesText(properties: Record<string, string>): string {
  return Object.entries(properties)
    .map(([key, value]) => `${key}=${value.replaceAll('\\', '\\\\')}\n`)
    .join('');
}
