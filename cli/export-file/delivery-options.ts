import { z } from 'zod';
import { type Destination, type Operations } from '../../shared/api/operations';
import { defined } from '../../shared/collections/defined';

/**
 * Batches, the retry plan and the proxy of a destination in an export file. An import leaves those
 * unchanged that the file lacks. The user info of a proxy is `***`, as in the API.
 */

const optional = <T extends z.ZodType>(type: T) => type.nullable().default(null);
export const deliveryOptions = {
  batch: z
    .strictObject({ maxEvents: z.number(), maxBytes: z.number(), maxWait: z.string() })
    .nullable()
    .optional(),
  retry: z
    .strictObject({
      delays: optional(z.array(z.string())),
      window: optional(z.string()),
      timeout: optional(z.string()),
      on: optional(z.array(z.number())),
    })
    .nullable()
    .optional(),
  proxy: z.string().nullable().optional(),
};
type DeliveryOptions = {
  [Name in keyof typeof deliveryOptions]?: z.output<(typeof deliveryOptions)[Name]>;
};
type Option = 'batch' | 'retry' | 'proxy';
type Options = Pick<Destination, Option>;
type Change = Pick<Operations['PATCH /destinations/{id}']['body'], Option>;
type Creation = Pick<Operations['POST /destinations']['body'], Option>;

const HIDDEN_LOGIN = '://***@';

export function deliveryOptionsToFile({ batch, retry, proxy }: Options) {
  return { batch, retry: retry && withoutComputed(retry), proxy };
}

/** @param secret the whole proxy, from the secrets file */
export function proxyWanted(
  wanted: DeliveryOptions,
  secret: string | undefined,
): string | null | undefined {
  return wanted.proxy?.includes(HIDDEN_LOGIN) ? (secret ?? wanted.proxy) : wanted.proxy;
}

/** Returns whether the login of the proxy is neither given nor stored for this proxy. */
export function lacksLogin(proxy: string | null | undefined, same: Options | undefined): boolean {
  return proxy?.includes(HIDDEN_LOGIN) === true && proxy !== same?.proxy;
}

/** Returns whether the proxy is at another address, so that no stored value is kept. */
export function movesProxy(proxy: string | null | undefined, same: Options): boolean {
  return proxy !== undefined && addressOf(proxy) !== addressOf(same.proxy);
}

/**
 * Returns the fields of a change. A merge patch keeps what it does not name, so absent parts of a
 * plan are null.
 */
export function deliveryOptionsPatch(
  { batch, retry }: DeliveryOptions,
  proxy: string | null | undefined,
): Change {
  const plan = retry && (retry as NonNullable<Change['retry']>);
  return defined({
    batch,
    retry: plan,
    proxy,
  });
}

export function deliveryOptionsBody(
  { batch, retry }: DeliveryOptions,
  proxy: string | null | undefined,
): Creation {
  const given = Object.entries(retry ?? {}).filter(([, value]) => value !== null);
  return defined({
    batch: batch || undefined,
    retry: given.length > 0 ? Object.fromEntries(given) : undefined,
    proxy: typeof proxy === 'string' ? proxy : undefined,
  });
}

/** Returns the options here in the form of the file, as far as the file has them. */
export function sameOptions(wanted: DeliveryOptions, same: Options): DeliveryOptions {
  const { batch, retry, proxy } = deliveryOptionsToFile(same);
  return defined({
    batch: wanted.batch !== undefined ? batch : undefined,
    retry: wanted.retry !== undefined ? retry : undefined,
    proxy: wanted.proxy !== undefined ? proxy : undefined,
  });
}

function withoutComputed({ delays, window, timeout, on }: NonNullable<Options['retry']>) {
  return { delays, window, timeout, on };
}

function addressOf(proxy: string | null): string | null {
  return proxy && proxy.replace(/:\/\/[^@]*@/, '://');
}
