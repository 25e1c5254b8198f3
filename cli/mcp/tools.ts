import { type McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { MESSAGE_TYPES } from '../../shared/model/message';
import { DELIVERY_STATUSES } from '../../shared/model/reasons';
import { type Api, readList } from '../connect/api';
import { find } from '../entries';
import { timeOf } from '../time';
import { explain } from './explain';

/** The tools of `waypost mcp`. Each calls the control API, so the role of the token limits them too. */

const MOST_FOUND = 200;
/** A model reads a short list better than a long one. */
const FOUND = 20;

const id = z.string().min(1).max(500).describe('The id of the delivery (its webhook-id), such as dlv_…');
const name = z.string().min(1).max(500).describe('The id or the unique name of the destination');
const time = z.string().max(50).describe('Such as 15m, 24h or 7d ago, or 2026-12-01T10:00:00Z');

const FIND = z.object({
  destination: name.optional(),
  user: z.string().max(8_000).optional().describe("The user's id, in full"),
  message: z.string().max(500).optional().describe("The message's id, in full"),
  status: z.enum(DELIVERY_STATUSES).optional(),
  type: z.enum(MESSAGE_TYPES).optional(),
  since: time.optional().describe('Accepted at this time or later. Such as 15m or 24h ago, or an ISO time'),
  until: time.optional().describe('Accepted before this time'),
  limit: z.int().min(1).max(MOST_FOUND).default(FOUND),
});

/** A tool that changes nothing. */
const READS = { readOnlyHint: true, openWorldHint: false };

const answer = (value: unknown) => ({
  content: [{ type: 'text' as const, text: typeof value === 'string' ? value : JSON.stringify(value, null, 2) }],
});

export function addReadTools(server: McpServer, api: () => Api): void {
  server.registerTool(
    'find_deliveries',
    {
      title: 'Find deliveries',
      description: 'Finds the deliveries of messages to webhooks, newest first: by user, destination, status and time.',
      inputSchema: FIND,
      annotations: READS,
    },
    async ({ destination, since, until, limit, ...filters }) => {
      const query = {
        ...filters,
        ...(destination !== undefined && { destination: (await find(api(), 'destination', destination)).id }),
        ...(since !== undefined && { since: timeOf(since, 'since', Date.now()) }),
        ...(until !== undefined && { until: timeOf(until, 'until', Date.now()) }),
      };
      const rows = await readList(api(), 'GET /deliveries', { query }, limit);
      // Attempts are long: show_delivery has them.
      return answer(rows.map(({ attempts: _, ...row }) => row));
    },
  );
  server.registerTool(
    'show_delivery',
    {
      title: 'Show a delivery',
      description: 'Shows one delivery with its body, its attempts, the responses, and its remaining time.',
      inputSchema: z.object({ id }),
      annotations: READS,
    },
    async ({ id: given }) => answer(await find(api(), 'delivery', given)),
  );
  server.registerTool(
    'explain_delivery',
    {
      title: 'Explain a delivery',
      description: 'Says in sentences why a delivery waits or how it ended, and when the next attempt follows.',
      inputSchema: z.object({ id }),
      annotations: READS,
    },
    async ({ id: given }) => answer(explain(await find(api(), 'delivery', given), Date.now())),
  );
  server.registerTool(
    'list_destinations',
    {
      title: 'List destinations',
      description: 'Lists the destinations with their counts of the last day, latencies and failing endpoints.',
      annotations: READS,
    },
    async () => answer((await api().call('GET /overview', {})).data.data),
  );
}

export function addWriteTools(server: McpServer, api: () => Api): void {
  server.registerTool(
    'replay_delivery',
    {
      title: 'Replay a delivery',
      description:
        'Sends an ended delivery again, to the current URLs of its destination and with the same webhook-id.',
      inputSchema: z.object({ id }),
      annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
    },
    async ({ id: given }) => answer((await api().call('POST /deliveries/{id}/replay', { id: given, body: {} })).data),
  );
}
