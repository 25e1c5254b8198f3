import { z } from 'zod';
import { BODY_FORMATS, METHODS } from '../model/request-settings';
import { checkRenderedHeaders } from '../model/webhook-request';

/** The `request` of a destination: the differences of its requests from the default POST. */

/** As long as a filter. The parser takes up to 0.3 s for the worst text of this length. */
const MAX_EXPRESSION_CHARACTERS = 2_000;
const MAX_GZIP_ABOVE = 5_000_000;

const headers = z
  .record(z.string(), z.string().nullable())
  .superRefine((given, ctx) => {
    for (const { name, problem } of checkRenderedHeaders(Object.keys(given))) {
      ctx.addIssue({ code: 'custom', message: problem, path: name === '' ? [] : [name] });
    }
  })
  .meta({
    description:
      'Name → CEL expression that yields text, such as {"X-User": "userId"}. At most 20. ' +
      'content-type replaces the default; null removes one',
  });

export const requestBody = z
  .strictObject({
    method: z.enum(METHODS).nullish().meta({ description: 'Default: POST' }),
    format: z.enum(BODY_FORMATS).nullish().meta({
      description: 'Shape of the body. Default: default, the message. Not together with body',
    }),
    body: z
      .string()
      .nullish()
      .meta({
        description:
          'CEL expression that yields the body: a map or a list for JSON, or text. It has ' +
          'the variables of filters, and message',
        maxLength: MAX_EXPRESSION_CHARACTERS,
      }),
    headers: headers.nullish(),
    gzipAbove: z.int().min(0).max(MAX_GZIP_ABOVE).nullish().meta({
      description: 'Compress bodies of more than this many bytes with gzip. Omit for never',
    }),
  })
  .superRefine(({ format, body }, ctx) => {
    if (body == null || format == null) return;
    ctx.addIssue({
      code: 'custom',
      path: ['format'],
      message: 'cannot be combined with body. Set one of them to null',
    });
  })
  .meta({ description: 'How requests differ from the default POST. Omit for the default' });

export const requestView = z
  .strictObject({
    method: z.enum(METHODS).nullable(),
    format: z.enum(BODY_FORMATS).nullable(),
    body: z.string().nullable(),
    headers: z.record(z.string(), z.string()).nullable(),
    gzipAbove: z.int().nullable(),
  })
  .nullable()
  .meta({ description: 'null means default, for the object and for each field' });

const object = z.record(z.string(), z.unknown());

export const previewBody = z.strictObject({
  destination: z.union([z.string(), object]).meta({
    description: 'Id of a destination, or fields of one, such as {"request": {"format": "slack"}}',
  }),
  event: z.string().optional().meta({ description: 'Id of an accepted event of GET /events' }),
  message: object.optional().meta({
    description:
      'A message instead of an event. Missing fields are filled in. Without both, a sample',
  }),
});

export const renderedRequest = z
  .strictObject({
    method: z.enum(METHODS),
    headers: z.record(z.string(), z.string()),
    body: z.string(),
  })
  .meta({
    description:
      'The request to the first URL, as it would be sent. Secrets and values of the moment are ***',
  });
