import { z } from 'zod';
import { type Access, accessTo, OPERATION_IDS, type OperationId } from './access';
import { ALERT_OPERATIONS, ALERT_RESPONSES } from './alerts';
import { AUDIENCE_OPERATIONS, AUDIENCE_RESPONSES } from './audiences';
import { AUDIT_OPERATIONS, AUDIT_RESPONSES } from './audit';
import { DELETION_OPERATIONS, DELETION_RESPONSES } from './deletions';
import { DELIVERY_OPERATIONS, DELIVERY_RESPONSES } from './deliveries';
import { DESTINATION_OPERATIONS, DESTINATION_RESPONSES } from './destinations';
import { EVENT_OPERATIONS, EVENT_RESPONSES } from './events';
import { LOOKUP_OPERATIONS, LOOKUP_RESPONSES } from './lookup';
import { type Operation } from './operation';
import { OVERVIEW_OPERATIONS, OVERVIEW_RESPONSES } from './overview';
import { REPLAY_OPERATIONS, REPLAY_RESPONSES } from './replays';
import { SOURCE_OPERATIONS, SOURCE_RESPONSES } from './sources';
import { TOKEN_OPERATIONS, TOKEN_RESPONSES } from './tokens';

/**
 * The table of all operations of the control API. Control serves exactly these, OpenAPI describes
 * them, and the types of the console and the command line are inferred from them. Clients import
 * only types from here, so that they load no schema.
 */

const problem = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  instance: z.string(),
  errors: z
    .array(
      z.strictObject({
        pointer: z.string().optional(),
        parameter: z.string().optional(),
        detail: z.string(),
      }),
    )
    .optional(),
});

/** Schemas of the responses, by their names in the OpenAPI document. */
export const RESPONSES = {
  ...SOURCE_RESPONSES,
  ...DESTINATION_RESPONSES,
  ...AUDIENCE_RESPONSES,
  ...DELIVERY_RESPONSES,
  ...EVENT_RESPONSES,
  ...LOOKUP_RESPONSES,
  ...DELETION_RESPONSES,
  ...REPLAY_RESPONSES,
  ...ALERT_RESPONSES,
  ...TOKEN_RESPONSES,
  ...AUDIT_RESPONSES,
  ...OVERVIEW_RESPONSES,
  OpenApi: z.looseObject({ openapi: z.string() }),
  Problem: problem,
} as const;
export type ResponseName = keyof typeof RESPONSES;

const OPERATIONS = {
  'GET /openapi.json': { summary: 'Get this document', ok: [200, 'OpenApi'] },
  ...SOURCE_OPERATIONS,
  ...DESTINATION_OPERATIONS,
  ...AUDIENCE_OPERATIONS,
  ...DELIVERY_OPERATIONS,
  ...EVENT_OPERATIONS,
  ...LOOKUP_OPERATIONS,
  ...DELETION_OPERATIONS,
  ...REPLAY_OPERATIONS,
  ...ALERT_OPERATIONS,
  ...TOKEN_OPERATIONS,
  ...AUDIT_OPERATIONS,
  ...OVERVIEW_OPERATIONS,
} as const satisfies Record<
  OperationId,
  Operation & { ok: readonly [status: number, response?: ResponseName] }
>;

type Table = typeof OPERATIONS;

type FullOperation = Access &
  Operation & { ok: readonly [status: number, response?: ResponseName] };
const FULL = Object.fromEntries(
  OPERATION_IDS.map((id): [OperationId, FullOperation] => [
    id,
    { ...OPERATIONS[id], ...accessTo(id) },
  ]),
) as Record<OperationId, FullOperation>;

/** Returns an operation with its access rules. */
export const operationOf = (id: OperationId): FullOperation => FULL[id];

type Responses = { [Name in ResponseName]: z.output<(typeof RESPONSES)[Name]> };
type Schema<Id extends OperationId, Part extends 'query' | 'body'> = Table[Id] extends {
  [Key in Part]: infer S extends z.ZodType;
}
  ? S
  : undefined;
type Sent<S> = S extends z.ZodType ? z.input<S> : undefined;
type Read<S> = S extends z.ZodType ? z.output<S> : undefined;

/** The operations whose handler writes a stream. */
export type StreamId = {
  [Id in OperationId]: Table[Id] extends { stream: true } ? Id : never;
}[OperationId];

/** The query that a handler reads. */
export type Query<Id extends OperationId> = Read<Schema<Id, 'query'>>;

/** The query and the body that clients send, and the body of the response. */
export type Operations = {
  [Id in OperationId]: {
    query: Sent<Schema<Id, 'query'>>;
    body: Sent<Schema<Id, 'body'>>;
    response: Table[Id]['ok'] extends readonly [number, infer Name extends ResponseName]
      ? Responses[Name]
      : undefined;
  };
};

export type About = Responses['About'];
export type Alerts = Responses['Alerts'];
export type Audience = Responses['Audience'];
export type Audit = Responses['Audit'];
export type Calls = Responses['Calls'];
export type ComputedTrait = Responses['ComputedTrait'];
export type Deletion = Responses['Deletion'];
export type Deliveries = Responses['Deliveries'];
export type Delivery = Responses['Delivery'];
export type Destination = Responses['Destination'];
export type DestinationHealth = Responses['DestinationHealth'];
export type Event = Responses['Event'];
export type GoesOn = NonNullable<Delivery['goesOn']>;
export type Lookup = Responses['Lookup'];
export type Members = Responses['Members'];
export type NewToken = Responses['NewToken'];
export type Notice = Responses['Notice'];
export type Overview = Responses['Overview'];
export type Preview = Responses['Preview'];
export type Problem = Responses['Problem'];
export type Replay = Responses['Replay'];
export type Session = Responses['Session'];
export type Sizes = Responses['Sizes'];
export type Source = Responses['Source'];
export type SourceRow = Responses['Sources']['data'][number];
export type Syncs = Responses['Syncs'];
export type Test = Responses['Test'];
export type Token = Responses['Token'];
export type Trial = Responses['Trial'];
export type UploadedMembers = Responses['UploadedMembers'];
