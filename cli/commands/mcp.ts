import { type Group, type Listed } from '../command';
import { type McpOptions } from '../mcp/serve';

/**
 * `waypost mcp`: a server of the Model Context Protocol, with which an AI assistant operates
 * Waypost.
 */

export function addMcp(program: Group, { syntax, summary }: Listed): void {
  program.leaf<McpOptions>(
    syntax,
    {
      summary,
      example: 'mcp --url http://127.0.0.1:8090',
      options: [
        ['--allow-writes', 'offer tools that change something, too'],
        ['--allow-admin', 'offer the tools of tokens and of deletions of users, too'],
      ],
      more:
        'Each operation of the API that your token may call is a tool, except event streams. ' +
        'The tools show message bodies, whose\ntexts strangers choose. So they only read by ' +
        'default. The token is that of WAYPOST_TOKEN or of `waypost login`, never the\nadmin ' +
        'token of the services: `waypost tokens create assistant --role read_only` creates one.',
    },
    // Its packages take a third of the time in which other commands start.
    async (session, options) => (await import('../mcp/serve')).serve(session, options),
  );
}
