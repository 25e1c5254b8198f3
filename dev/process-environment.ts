import { SERVICES, type ProcessName, type ServiceName } from '../bin/service-list';
import { type Secrets } from './secrets';

/** Gives each process of a local system the secrets that it needs, and no others. Pure. */

/**
 * The settings that hold a secret, or may hold one in an address, with the services that read them.
 * Every service connects to Kafka, so that KAFKA_SASL_PASSWORD is not among them.
 */
const READERS: Readonly<Record<string, readonly ServiceName[]>> = {
  WAYPOST_ADMIN_TOKEN: ['control'],
  WAYPOST_SECRET_KEY: ['delivery', 'control'],
  WAYPOST_DATABASE_URL: ['control'],
  WAYPOST_SMTP_URL: ['delivery', 'control'],
  WAYPOST_EGRESS_PROXY: ['delivery'],
  // Of the supervisor, and of the command line.
  WAYPOST_MAVEN_MIRROR: [],
  WAYPOST_TOKEN: [],
  WAYPOST_WRITE_KEY: [],
  WAYPOST_SHARED_SECRET: [],
  WAYPOST_ENDPOINT_AUTH: [],
};

/** Returns the generated secrets that a service requires to start. */
export function neededSecrets(name: ServiceName): (keyof Secrets)[] {
  return (['WAYPOST_ADMIN_TOKEN', 'WAYPOST_SECRET_KEY'] as const).filter((secret) =>
    READERS[secret]?.includes(name),
  );
}

/** Returns the environment of a process of services: without the secrets of the others. */
export function serviceEnvironment(name: ProcessName, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const services = name === 'all' ? SERVICES : [name];
  return pick(env, (setting) => {
    const readers = READERS[setting];
    return readers === undefined || readers.some((reader) => services.includes(reader));
  });
}

/**
 * Returns the environment of a Java program: what a JVM and its shell read. Kafka needs no secret
 * of it, as its passwords are in a file.
 */
export function javaEnvironment(env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return pick(env, (name) =>
    /^(PATH|HOME|USER|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|(LD|DYLD)_\w+|JAVA_HOME|JAVA_TOOL_OPTIONS|JDK_JAVA_OPTIONS|MALLOC_\w+)$/.test(
      name,
    ),
  );
}

/** Returns the environment of a tool of the machine, such as pip: without Waypost's settings. */
export function toolEnvironment(env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return pick(env, (name) => !/^(WAYPOST|KAFKA|OTEL)_/.test(name));
}

function pick(env: NodeJS.ProcessEnv, wanted: (name: string) => boolean): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => wanted(name)));
}
