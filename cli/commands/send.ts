import { parseJson, stringifyJson } from '../../shared/json/json';
import { randomUUID } from 'node:crypto';
import { CALL_TYPES, type CallType, isJsonObject, type Json } from '../../shared/model/message';
import { type Group, type Listed, oneOf, type Session } from '../command';
import { endSentence, reasonOf } from '../connect/api';
import { find } from '../entries';
import { readInput } from '../secret-input';
import { CliError, usage } from '../process-context';

/** `waypost send`: sends a call of any type, as a client would. */

interface SendOptions {
  source?: string;
  user?: string;
  anonymous?: string;
  event?: string;
  name?: string;
  group?: string;
  previous?: string;
  properties?: string;
  traits?: string;
  context?: string;
  integrations?: string;
  body?: string;
}

const OBJECTS = ['properties', 'traits', 'context', 'integrations'] as const;

export function addSend(program: Group, { syntax, summary }: Listed): void {
  program.leaf<SendOptions>(
    syntax,
    {
      summary,
      example:
        'send track --source "My site" --user u1 --event "Order Completed" --properties ' +
        `'{"total": 42}'`,
      options: [
        [
          '--source <source>',
          'source whose write key to use, by id or name. Or set WAYPOST_WRITE_KEY',
        ],
        ['--user <id>', 'userId'],
        ['--anonymous <id>', 'anonymousId'],
        ['--event <name>', 'event of a track call'],
        ['--name <name>', 'name of a page or screen call'],
        ['--group <id>', 'groupId'],
        ['--previous <id>', 'previousId of an alias call'],
        ['--properties <json>', 'a JSON object, or @file'],
        ['--traits <json>', 'a JSON object, or @file'],
        ['--context <json>', 'a JSON object, or @file'],
        ['--integrations <json>', 'a JSON object, or @file'],
        [
          '--body <file>',
          'the whole call as JSON; - for standard input. Other options override its fields',
        ],
      ],
      more: 'The command does not validate the call; ingest does.',
    },
    async (session, options, type = '') => {
      const call = await callOf(session, oneOf(type, 'The type', CALL_TYPES), options);
      await send(session, options, call);
    },
  );
}

/** Assigns the message id here, so that a call that is sent again counts once. */
async function callOf(
  { world }: Session,
  type: CallType,
  options: SendOptions,
): Promise<Record<string, unknown>> {
  const whole =
    options.body === undefined ? {} : objectOf(await readInput(world, options.body), '--body');
  const given: Record<string, unknown> = {
    userId: options.user,
    anonymousId: options.anonymous,
    event: options.event,
    name: options.name,
    groupId: options.group,
    previousId: options.previous,
  };
  for (const name of OBJECTS) {
    const text = options[name];
    if (text === undefined) continue;
    given[name] = objectOf(
      text.startsWith('@') ? await readInput(world, text.slice(1)) : text,
      `--${name}`,
    );
  }
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { messageId: randomUUID(), ...whole, ...set, type };
}

async function send(
  session: Session,
  options: SendOptions,
  call: Record<string, unknown>,
): Promise<void> {
  const writeKey = await writeKeyOf(session, options.source);
  const { ingestUrl } = session.installation();
  if (ingestUrl === undefined) {
    throw new CliError('The address of ingest is unknown. Set WAYPOST_INGEST_URL.');
  }
  // A batch of one: its response names the reason of each rejected call.
  const answer = await post(`${ingestUrl}/v1/batch`, writeKey, { batch: [call] });
  const [fault] = answer.rejected ?? [];
  if (fault) throw new CliError(`The call was rejected, ${fault.code}: ${fault.message}.`);
  session.print.thing({ messageId: call.messageId, type: call.type }, [
    ['sent', String(call.type)],
    ['message', String(call.messageId)],
  ]);
}

async function writeKeyOf({ world, api }: Session, source: string | undefined): Promise<string> {
  if (source === undefined) {
    const key = world.env.WAYPOST_WRITE_KEY;
    if (!key) throw usage('--source or WAYPOST_WRITE_KEY is required.');
    return key;
  }
  const { writeKey, name } = await find(api(), 'source', source);
  if (writeKey === null) {
    throw new CliError(
      `Only administrators see the write key of "${name}". Set WAYPOST_WRITE_KEY to it.`,
    );
  }
  return writeKey;
}

interface IngestAnswer {
  success?: boolean;
  code?: string;
  message?: string;
  rejected?: { code: string; message: string }[];
}

/** Longer than ingest's own timeout. */
const PATIENCE_MS = 10_000;

async function post(url: string, writeKey: string, body: unknown): Promise<IngestAnswer> {
  let response: Response;
  let answer: IngestAnswer;
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`,
        'content-type': 'application/json',
      },
      body: stringifyJson(body),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    answer = (await response.json()) as IngestAnswer;
  } catch (error) {
    throw new CliError(
      `Ingest did not answer at ${url} (${reasonOf(error)}). Set WAYPOST_INGEST_URL if it ` +
        'is elsewhere.',
    );
  }
  if (!response.ok) {
    throw new CliError(
      endSentence(
        `Ingest refused it, ${answer.code ?? String(response.status)}: ` +
          (answer.message ?? 'without a reason'),
      ),
    );
  }
  return answer;
}

/** @throws CliError */
export function objectOf(text: string, name: string): Record<string, unknown> {
  let value: Json;
  try {
    value = parseJson(text) as Json;
  } catch {
    throw usage(`${name} is not JSON.`);
  }
  if (!isJsonObject(value)) throw usage(`${name} must be a JSON object.`);
  return value;
}
