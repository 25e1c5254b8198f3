import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { PassThrough, Writable } from 'node:stream';
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { type Group, type Session } from '../command';
import { type OpenApi } from '../mcp/operations';
import { addTools } from '../mcp/tools';
import { version } from '../version';

/**
 * `waypost mcp`: a server of the Model Context Protocol, with which an AI assistant operates
 * Waypost.
 */

interface McpOptions {
  readOnly?: boolean;
}

export function addMcp(program: Group): void {
  program.leaf<McpOptions>(
    'mcp',
    {
      summary:
        'Serve tools for AI assistants over standard input and output (Model Context Protocol)',
      example: 'mcp --url http://127.0.0.1:8090',
      options: [
        ['--read-only', 'offer only tools that change nothing'],
        ['--allow-writes', 'no effect: kept for existing configurations'],
      ],
      more:
        'Each operation of the API that your token may call is a tool, except event streams. ' +
        'The role and the rights of the token\ndecide which tools there are. The tools see ' +
        'message bodies. Give an assistant a read-only token unless it shall make changes.',
    },
    serve,
  );
}

async function serve(
  { world, api, print }: Session,
  { readOnly = false }: McpOptions,
): Promise<void> {
  const [{ data: session }, { data: document }] = await Promise.all([
    api().call('GET /session', {}),
    api().call('GET /openapi.json', {}),
  ]);
  const server = new McpServer({ name: 'waypost', version: version() });
  addTools(server, api(), { document: document as unknown as OpenApi, session, readOnly });
  const open = new OpenRequests();
  const input = new PassThrough();
  const output = new Writable({
    write: (chunk: Buffer, _, done) => {
      world.out(chunk.toString());
      for (const line of chunk.toString().split('\n')) open.answered(line);
      done();
    },
  });
  // Standard output belongs to the protocol.
  print.note(
    `Serving MCP for ${api().base} with the tools of the role ` +
      `${session.role}${readOnly ? ' that change nothing' : ''}.`,
  );
  await server.connect(new StdioServerTransport(input, output));
  world.stop.addEventListener('abort', () => open.giveUp(), { once: true });
  const lines = createInterface({ input: world.stdin, signal: world.stop });
  lines.on('line', (line) => {
    open.asked(line);
    input.write(`${line}\n`);
  });
  // The assistant ends the server by closing its input.
  await once(lines, 'close');
  await open.settled();
  await server.close();
}

/**
 * Tracks the requests without an answer: the transport would drop these answers at the end of its
 * input.
 */
class OpenRequests {
  readonly #ids = new Set<unknown>();
  #settle: (() => void) | undefined;

  asked(line: string): void {
    const { id, method, params } = messageIn(line);
    if (method !== undefined && id !== undefined) this.#ids.add(id);
    // A cancelled request gets no answer.
    if (method === 'notifications/cancelled') this.#forget(params?.requestId);
  }

  answered(line: string): void {
    const { id, method } = messageIn(line);
    if (method === undefined) this.#forget(id);
  }

  giveUp(): void {
    this.#ids.clear();
    this.#settle?.();
  }

  settled(): Promise<void> {
    if (this.#ids.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  #forget(id: unknown): void {
    this.#ids.delete(id);
    if (this.#ids.size === 0) this.#settle?.();
  }
}

interface RpcMessage {
  id?: unknown;
  method?: unknown;
  params?: { requestId?: unknown };
}

/**
 * Parses a line. The transport reports one that is not a message, so that none of its fields are
 * needed here.
 */
function messageIn(line: string): RpcMessage {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
