import { chooseKafka, type JavaKafka } from '../../../dev/kafka/kafka-source';
import { AppError } from '../../../shared/runtime/errors';

/** Where the broker of a local system comes from. KAFKA_BROKERS is decided by the caller. */

interface Machine {
  wanted?: 'java' | 'container';
  java?: boolean;
  /** whether a Java runtime and jars can be brought */
  runtime?: boolean;
  jars?: boolean;
  containers?: boolean;
}

const given = (there: boolean | undefined, value: string): Promise<string> =>
  there ? Promise.resolve(value) : Promise.reject(new AppError('cannot_start', `No ${value}.`));

async function choose(machine: Machine) {
  const notes: string[] = [];
  const asked: string[] = [];
  const ask = <T>(what: string, answer: () => T): T => {
    asked.push(what);
    return answer();
  };
  const sources = {
    machineJava: () => ask('java', () => Promise.resolve(machine.java ? 'its java' : undefined)),
    bringJava: () => ask('runtime', () => given(machine.runtime, 'brought java')),
    bringJars: () => ask('jars', () => given(machine.jars, 'jars')),
    findEngine: () => ask('containers', () => given(machine.containers, 'engine')),
  };
  const chosen: JavaKafka | { engine: string } | string = await chooseKafka(
    machine.wanted,
    sources,
    (note) => notes.push(note),
  ).catch((error: unknown) => (error as Error).message);
  return { chosen, asked, notes };
}

const ITS_JAVA = { java: 'its java', jars: 'jars' };
const CONTAINER = { engine: 'engine' };
const BROUGHT = { java: 'brought java', jars: 'jars' };

test.each<[string, Machine, unknown, string[]]>([
  [
    'The Java of the machine runs it',
    { java: true, jars: true, containers: true },
    ITS_JAVA,
    ['java', 'jars'],
  ],
  [
    'A brought runtime runs it on a machine without Java, before any container',
    { runtime: true, jars: true, containers: true },
    BROUGHT,
    ['java', 'runtime', 'jars'],
  ],
  [
    'A container runs it if no runtime can be brought',
    { jars: true, containers: true },
    CONTAINER,
    ['java', 'runtime', 'containers'],
  ],
  [
    'A container runs it if the jars cannot be brought',
    { java: true, containers: true },
    CONTAINER,
    ['java', 'jars', 'containers'],
  ],
  [
    'WAYPOST_KAFKA=container prefers a container to the Java of the machine',
    { wanted: 'container', java: true, jars: true, containers: true },
    CONTAINER,
    ['containers'],
  ],
  [
    'WAYPOST_KAFKA=java brings a runtime',
    { wanted: 'java', runtime: true, jars: true },
    BROUGHT,
    ['java', 'runtime', 'jars'],
  ],
])('%s', async (_, machine, expected, order) => {
  const { chosen, asked } = await choose(machine);
  expect(chosen).toEqual(expected);
  expect(asked).toEqual(order);
});

test.each<[string, Machine, RegExp]>([
  [
    'A machine that has nothing gets the reason and the remedies',
    {},
    /^No brought java\. No engine\. You can also install Java 17 .*KAFKA_BROKERS.*\.$/,
  ],
  [
    'A machine whose jars cannot be brought gets the reason and the remedies',
    { java: true },
    /^No jars\. No engine\. You can also .*KAFKA_BROKERS.*\.$/,
  ],
  [
    'WAYPOST_KAFKA=java never tries a container',
    { wanted: 'java', java: true, containers: true },
    /^No jars\.$/,
  ],
  [
    'WAYPOST_KAFKA=container never tries Java',
    { wanted: 'container', java: true, jars: true },
    /^No engine\.$/,
  ],
])('%s', async (_, machine, sentence) => {
  expect((await choose(machine)).chosen).toMatch(sentence);
});

test('A start that falls back to a container says why', async () => {
  const { notes } = await choose({ jars: true, containers: true });
  expect(notes).toEqual(['No brought java. Running Apache Kafka in a container']);
});
