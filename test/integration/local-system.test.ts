import { spawnSync } from 'node:child_process';
import { chmodSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { SERVICES } from '../../bin/service-list';
import { kafkaAddress } from '../../shared/kafka/client/connection';
import { isAlive } from '../../shared/runtime/process-id';
import { loadSettings } from '../../shared/runtime/settings';
import { eventually } from '../support/eventually';
import { copyHistoryFiles } from '../support/history-files';
import {
  descendantIds,
  descendants,
  processes,
  startSupervised,
  type Supervised,
} from '../support/supervised';
import { freePorts } from '../../dev/ports';
import { startSystem, type System, systemEnv } from '../../tools/harness/system';

/** The commands that people type, with the real services. */

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'waypost-commands-'));
  // Only Waypost itself keeps others out of the data dir.
  chmodSync(dir, 0o755);
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const ADMIN_TOKEN = 'the-admin-token-of-this-test';
const SECRET_KEY = Buffer.alloc(32, 9).toString('base64');
const SMTP_PASSWORD = 'the-password-of-the-mail-server';
const OTHER_TOKEN = 'a-token-of-the-command-line';

describe('npm start', () => {
  const dataDir = () => join(dir, 'data');
  let npm: Supervised | undefined;
  afterAll(() => npm?.end('SIGTERM'));

  test('its printed commands work, and a signal to npm alone stops all processes', async () => {
    const env = await systemEnv({
      embedded: true,
      dataDir: dataDir(),
      prefix: '',
      env: { WAYPOST_SECRET_KEY: SECRET_KEY },
    });
    npm = startSupervised('npm', ['start'], env);
    await npm.printed('waypost ready', 240_000);
    const below = descendants(npm.pid);
    const ids = descendantIds(npm.pid);
    for (const name of SERVICES) {
      expect(below.some(({ command }) => command.startsWith(`waypost-${name}`))).toBe(true);
    }
    expect(below.some(({ command }) => command === 'waypost')).toBe(true);

    const [, consoleUrl = '', token = ''] =
      /Open (\S+) and sign in with the admin token (\S+)[^]*A first event/.exec(npm.output()) ?? [];
    expect(await statusOf(`${consoleUrl}/`, token)).toBe(200);
    expect(await statusOf(`${consoleUrl}/api/v1/sources`, token)).toBe(200);

    // The printed commands run in a shell as they are. The port of their receiver may be taken
    // here.
    const [port = 0] = await freePorts(1, '127.0.0.1');
    const [receive = '', ...send] = npm
      .output()
      .split('\n')
      .filter((line) => /^ +(node|export) /.test(line))
      .map((line) => line.replace(/\b3000\b/, String(port)));
    expect(send).toHaveLength(4);
    const receiver = startSupervised('sh', ['-c', `exec ${receive.trim()}`], {});
    const shell = startSupervised('sh', ['-ec', send.join('\n')], {});
    expect([await shell.exited, shell.output()]).toEqual([
      0,
      expect.stringContaining('First hook'),
    ]);
    await eventually(() => expect(receiver.output()).toContain('"event":"First Event"'));
    await receiver.end('SIGTERM');

    process.kill(npm.pid, 'SIGTERM');
    await npm.exited;
    await eventually(() => expect(ids.filter(isAlive)).toEqual([]));
  }, 600_000);

  /**
   * What other users of a machine can reach of a system that runs there: its ports, its files, and
   * the arguments of its processes.
   */
  describe('a second start', () => {
    let system: System;
    beforeAll(async () => {
      system = await startSystem({
        embedded: true,
        dataDir: dataDir(),
        env: {
          WAYPOST_ADMIN_TOKEN: ADMIN_TOKEN,
          WAYPOST_SECRET_KEY: SECRET_KEY,
          WAYPOST_SMTP_URL: `smtps://user:${SMTP_PASSWORD}@mail.example.com`,
          WAYPOST_TOKEN: OTHER_TOKEN,
        },
      });
    }, 400_000);
    afterAll(() => system.stop(), 200_000);

    test('has all data of the first one', async () => {
      const { status, body } = await system.control('GET', '/sources');
      expect([status, body.data.map(({ name }: { name: string }) => name)]).toEqual([
        200,
        ['First source'],
      ]);
    });

    const password = () => readFileSync(join(dataDir(), 'kafka', 'password'), 'utf8').trim();
    const ports = () =>
      JSON.parse(readFileSync(join(dataDir(), 'kafka', 'ports.json'), 'utf8')) as {
        broker: number;
        controller: number;
      };
    const quiet = { logLevel: logLevel.NOTHING, retry: { retries: 0 } };

    /** Appends to `config`, as who makes himself an administrator does. */
    async function inject(kafka: Kafka): Promise<void> {
      const producer = kafka.producer();
      try {
        await producer.connect();
        await producer.send({ topic: 'config', messages: [{ key: 'token:tok_x', value: null }] });
      } finally {
        await producer.disconnect();
      }
    }

    test('who has no login can append nothing to `config`, and who has it can', async () => {
      const brokers = [system.brokers];
      await expect(inject(new Kafka({ ...quiet, brokers }))).rejects.toThrow();
      for (const mechanism of ['plain', 'scram-sha-256'] as const) {
        const sasl = { mechanism: mechanism as 'plain', username: 'waypost', password: 'guessed' };
        await expect(inject(new Kafka({ ...quiet, brokers, sasl }))).rejects.toThrow();
      }
      await inject(new Kafka({ ...quiet, ...kafkaAddress(loadSettings(system.env)) }));
    });

    test("Kafka's controller, which can delete topics, answers only after a login", async () => {
      const { broker, controller } = ports();
      expect(await deleteTopic(controller, 'config')).toBe('closed');
      expect(await deleteTopic(broker, 'config')).toBe('closed');
      const admin = new Kafka({ ...quiet, ...kafkaAddress(loadSettings(system.env)) }).admin();
      await admin.connect();
      expect(await admin.listTopics()).toContain('config');
      await admin.disconnect();
    });

    test('no other user can read a file of the data dir', () => {
      const data = dataDir();
      const open = readdirSync(data, { recursive: true, encoding: 'utf8' }).filter(
        (name) =>
          ((lstatSync(join(data, name), { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0,
      );
      // The embedded database chooses the modes of its files. Its folder keeps others out.
      expect(open.filter((name) => !name.startsWith('history/pg/'))).toEqual([]);
      if (process.getuid?.() !== 0) return;
      const nobody = { uid: 65_534, gid: 65_534, encoding: 'utf8' } as const;
      const found = spawnSync('find', [data, '-type', 'f', '-readable'], nobody);
      expect([found.stdout, found.stderr]).toEqual([
        '',
        expect.stringContaining('Permission denied'),
      ]);
    });

    test('each process has only the secrets that it needs', () => {
      const known = { ADMIN_TOKEN, SECRET_KEY, SMTP_PASSWORD, OTHER_TOKEN, KAFKA: password() };
      const held = (pid: number) => {
        const text = readFileSync(`/proc/${String(pid)}/environ`, 'utf8');
        return Object.entries(known).flatMap(([name, secret]) =>
          text.includes(secret) ? name : [],
        );
      };
      const kafka = descendants(system.pid).filter(({ command }) =>
        command.includes('kafka.Kafka'),
      );
      // Java, and the shell that watches it.
      expect(kafka.length).toBeGreaterThanOrEqual(2);
      expect(kafka.map(({ pid }) => held(pid))).toEqual(kafka.map(() => []));
      for (const name of ['ingest', 'router', 'retry', 'audiences'] as const) {
        expect([name, system.pids(name).map(held)]).toEqual([name, [[]]]);
      }
      expect(system.pids('delivery').map(held)).toEqual([['SECRET_KEY', 'SMTP_PASSWORD']]);
      expect(system.pids('control').map(held)).toEqual([
        ['ADMIN_TOKEN', 'SECRET_KEY', 'SMTP_PASSWORD'],
      ]);
    });

    test('no argument of a process is a secret', () => {
      const all = processes()
        .map(({ command }) => command)
        .join('\n');
      for (const secret of [ADMIN_TOKEN, SECRET_KEY, SMTP_PASSWORD, password()]) {
        expect(all).not.toContain(secret);
      }
    });

    test('ends by SIGTERM', async () => {
      expect(await system.stop()).toBe(0);
    }, 200_000);
  });
});

test('npm run demo sends signed calls, refuses one once, and says how to go on', async () => {
  const dataDir = join(dir, 'demo');
  // `npm start` above creates its own.
  copyHistoryFiles(join(dataDir, 'demo'));
  const env = await systemEnv({ dataDir, prefix: `demo-${String(process.pid)}.` });
  const demo = startSupervised('npm', ['run', 'demo'], env);
  try {
    await demo.printed(
      '  Send a call yourself, and watch it arrive here and there (Ctrl-C ends the demo):',
      400_000,
    );
    // the end of the last line
    await eventually(() => expect(demo.output()).toContain('"event":"My Event"}'));
    expect(demo.output()).toContain('✓ 14 of 14 POSTs arrived, 14 with both');
    expect(demo.output()).toContain('came back: attempt 2, same webhook-id');

    const [, consoleUrl = '', token = ''] =
      /See all of it in the console:\s+open (\S+) and sign in with (\S+)/.exec(demo.output()) ?? [];
    expect(await statusOf(`${consoleUrl}/api/v1/sources`, token)).toBe(200);

    // The command line finds the demo, and its topics.
    const doctor = startSupervised(process.execPath, ['cli/waypost.cjs', 'doctor'], {
      HOME: env.HOME,
      XDG_STATE_HOME: env.XDG_STATE_HOME,
      WAYPOST_DATA_DIR: dataDir,
    });
    await doctor.exited;
    expect(doctor.output()).toMatch(/^ok +topics/m);

    // A visitor's call is no call of the demo: each URL accepts it at once.
    const before = demo.output();
    const curl = before.split('\n').find((line) => line.trim().startsWith('curl ')) ?? '';
    const visitor = startSupervised('sh', ['-c', `exec ${curl.trim()}`], {});
    expect([await visitor.exited, visitor.output()]).toEqual([
      0,
      expect.stringContaining('"success":true'),
    ]);
    const answers = () =>
      demo
        .output()
        .slice(before.length)
        .match(/answered \d+/g);
    await eventually(() => expect(answers()).toHaveLength(2));
    expect(answers()).toEqual(['answered 200', 'answered 200']);
  } finally {
    await demo.end('SIGTERM');
  }
}, 600_000);

test('an unknown option is refused, and --help starts nothing', async () => {
  const outcome = async (...args: string[]) => {
    const command = startSupervised(process.execPath, ['dist/bin/main.js', ...args], {});
    return [await command.exited, command.output().split(/[.:]/)[0]];
  };
  expect(await outcome('demo', '--help')).toEqual([0, 'Usage']);
  expect(await outcome('start', '--togther')).toEqual([1, 'Unknown option']);
});

test.each([
  { args: ['--help'], code: 0, says: 'Name some of ingest, router' },
  { args: [], code: 1, says: 'No service was named' },
  { args: ['nothing'], code: 1, says: 'There is no service "nothing"' },
  { args: ['router'], code: 1, says: 'KAFKA_BROKERS is not set' },
])(
  'the image, which has no npm scripts, answers $args without naming one',
  async ({ args, code, says }) => {
    const command = startSupervised(process.execPath, ['dist/bin/main.js', 'service', ...args], {
      WAYPOST_DATA_DIR: dir,
    });
    expect([await command.exited, command.output()]).toEqual([code, expect.stringContaining(says)]);
    expect(command.output()).not.toMatch(/\bnpm\b/);
  },
);

/** Returns the status of a response to this token. */
async function statusOf(url: string, token: string): Promise<number> {
  return (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).status;
}

/**
 * Asks a port to delete a topic, by DeleteTopics in its version 1.
 * @returns whether it answered or closed the connection
 */
function deleteTopic(port: number, topic: string): Promise<'answered' | 'closed'> {
  const body = Buffer.concat([
    // Key 20, version 1, correlation 7, no client id, one topic.
    Buffer.from([0, 20, 0, 1, 0, 0, 0, 7, 0xff, 0xff, 0, 0, 0, 1, 0, topic.length]),
    Buffer.from(topic),
    // A time-out of 10 s.
    Buffer.from([0, 0, 0x27, 0x10]),
  ]);
  const size = Buffer.alloc(4);
  size.writeInt32BE(body.length);
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(Buffer.concat([size, body])));
    socket.once('data', () => {
      resolve('answered');
      socket.destroy();
    });
    socket.once('close', () => resolve('closed'));
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET') reject(error);
    });
  });
}
