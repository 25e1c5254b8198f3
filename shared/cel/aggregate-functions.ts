import { celEnv, celFunc, type CelFunc, CelScalar, objectType, plan } from '@bufbuild/cel';
import { isReflectMessage } from '@bufbuild/protobuf/reflect';
import { type Duration, durationMs, DurationSchema } from '@bufbuild/protobuf/wkt';
import { type Json } from '../model/message';
import { type Expr, textOf } from './syntax';
import { toValue } from './json-values';

/**
 * Aggregates of a user's events in conditions: `count`, `sum`, `first` and `last`. Their owner must
 * know the counters before the first message, so the arguments must be literals, and can be listed.
 */
export interface CounterCall {
  name: 'count' | 'sum' | 'first' | 'last';
  /** a track call's name */
  event: string;
  /** path within the event's properties; with `sum`, `first` and `last` */
  property?: string;
  /** ms back from now, absent: all time; with `count` and `sum` */
  windowMs?: number;
}

/**
 * Reads one counter of the evaluated user.
 * @returns for `count` and `sum` a number; for `first` and `last` the property's value, undefined
 *   without an event
 */
export type ReadCounter = (call: CounterCall) => Json | undefined;

const { DYN, DOUBLE, INT, STRING } = CelScalar;
const DURATION = objectType(DurationSchema);
const MAX_NAME_LENGTH = 200;
const MAX_WINDOW_MS = 366 * 86_400_000;

/** Replaces calls of counters after compilation. Its argument is the index in the list of calls. */
export const COUNTER = '@counter';

/** The counters of the running evaluation. Evaluations neither overlap nor nest. */
let reading: { calls: readonly CounterCall[]; read: ReadCounter } | undefined;

/** Sets the counters that the next evaluation reads. */
export function readCountersBy(calls: readonly CounterCall[], read: ReadCounter): void {
  reading = { calls, read };
}

/** Reads the counter of an index. Without an event, `first` and `last` are null. */
export const counterByIndex: CelFunc = celFunc(COUNTER, [INT], DYN, (index) => {
  const call = reading?.calls[Number(index)];
  const value = call && reading?.read(call);
  if (call?.name === 'count') return typeof value === 'number' ? BigInt(Math.trunc(value)) : 0n;
  return call?.name === 'sum' ? toValue(value ?? 0) : toValue(value);
});

function written(): never {
  throw new Error('a counter is read by its index');
}

/** The declarations for the type checker. These functions are never called. */
export const counterFunctions: CelFunc[] = [
  celFunc('count', [STRING], INT, written),
  celFunc('count', [STRING, DURATION], INT, written),
  celFunc('sum', [STRING, STRING], DOUBLE, written),
  celFunc('sum', [STRING, STRING, DURATION], DOUBLE, written),
  celFunc('first', [STRING, STRING], DYN, written),
  celFunc('last', [STRING, STRING], DYN, written),
];

const NAMES = new Set<string>(counterFunctions.map((func) => func.name));

/** Returns whether it calls a counter. The type checker has already checked the arguments. */
export function isCounter(expr: Expr): boolean {
  const call = expr.exprKind;
  return (
    call.case === 'callExpr' && call.value.target === undefined && NAMES.has(call.value.function)
  );
}

/** @returns the call, or the invalid argument with the reason */
export function readCounter(expr: Expr): CounterCall | { at: Expr; message: string } {
  const { function: name, args } = expr.exprKind.value as {
    function: CounterCall['name'];
    args: Expr[];
  };
  const [event, ...rest] = args;
  const property = name === 'count' ? undefined : rest.shift();
  const window = rest.shift();
  for (const [arg, what] of [
    [event, 'name of an event'],
    [property, 'name of a property'],
  ] as const) {
    if (arg === undefined) continue;
    const text = textOf(arg);
    if (text === undefined || text === '' || text.length > MAX_NAME_LENGTH) {
      const message =
        `${name}() needs the ${what} as a text literal of 1 to ${MAX_NAME_LENGTH} ` +
        'characters, because counters are maintained in advance.';
      return { at: arg, message };
    }
  }
  const call: CounterCall = { name, event: textOf(event) ?? '' };
  if (property) call.property = textOf(property) ?? '';
  if (window) {
    const windowMs = durationOf(window);
    if (windowMs === undefined || windowMs <= 0 || windowMs > MAX_WINDOW_MS) {
      const message =
        'The window must be a literal duration of at most 8784h, such as duration("720h") ' +
        'for 30 days.';
      return { at: window, message };
    }
    call.windowMs = windowMs;
  }
  return call;
}

/** Returns the ms of a `duration("…")` literal; undefined for anything else. */
function durationOf(expr: Expr): number | undefined {
  const kind = expr.exprKind;
  if (kind.case !== 'callExpr' || kind.value.function !== 'duration') return undefined;
  if (textOf(kind.value.args[0]) === undefined) return undefined;
  const value = plan(celEnv(), expr)();
  if (!isReflectMessage(value, DurationSchema)) return undefined;
  return durationMs(value.message as Duration);
}
