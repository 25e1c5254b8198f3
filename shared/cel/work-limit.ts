import {
  celFunc,
  type CelFunc,
  type CelList,
  celList,
  celMethod,
  type CelType,
  type CelValue,
  isCelError,
  isCelList,
  isCelMap,
} from '@bufbuild/cel';

/**
 * How much work one evaluation may be, and all filters of one message together.
 *
 * Each step of a loop and each call of a function is paid for from a budget, by what it reads: a unit is a microsecond or a
 * few. What cannot be paid fails. Everything is paid for: without a loop, `in` and `==` still read whole lists and objects
 * of a message as often as the expression names them.
 */
export const BUDGET = 2_000;
/** A third of a second at most, far from a session's end, however many destinations filter the message. */
const MESSAGE_BUDGET = 100_000;
/** What text an expression may make by `+`. */
const MAX_TEXT_LENGTH = 65_536;
/** Characters that a function reads for one unit. */
const TEXT_PER_UNIT = 256;
const ITEMS_PER_UNIT = 256;
/** What looking at a clock elsewhere takes (`timestamp.getHours("Europe/Berlin")`). */
const TIME_ZONE_UNITS = 100;

let given = BUDGET;
let left = BUDGET;

/** Begins an evaluation that may take so many units. */
export function refill(units: number): void {
  given = left = units;
}

/** Returns the units that the last evaluation took. */
export function spent(): number {
  return given - Math.max(0, left);
}

/** Shares the budget of one message among the filters that are asked about it. */
export class MessageBudget {
  #left = MESSAGE_BUDGET;

  /** @param filters at most so many will be asked */
  constructor(private filters: number) {}

  /** Returns the units of the next filter: an even part of what the ones before it have left. */
  next(): number {
    return Math.min(BUDGET, this.#left / Math.max(1, this.filters--));
  }

  take(units: number): void {
    this.#left -= units;
  }
}

export const TOO_MUCH_WORK = 'the work limit for one message is exceeded';

class TooMuchWork extends Error {
  constructor() {
    super(TOO_MUCH_WORK);
  }
}

/** @throws TooMuchWork */
export function charge(units: number): void {
  left -= units;
  if (left < 0) throw new TooMuchWork();
}

/** The same functions, each paid for. */
export function charged(funcs: Iterable<CelFunc>): CelFunc[] {
  return Array.from(funcs, (func) => {
    const deep = DEEP.has(func.name);
    const pay = (target: CelValue | undefined, args: CelValue[]): CelValue => {
      charge(func.name.startsWith('get') && args.length > 0 ? TIME_ZONE_UNITS : 0.25);
      if (target !== undefined) weigh(target, deep);
      for (const arg of args) weigh(arg, deep);
      const result = func.call(0, target, args);
      if (result === undefined) throw new Error(`found no matching overload for '${func.name}'`);
      if (isCelError(result)) throw result;
      if (typeof result === 'string' && result.length > MAX_TEXT_LENGTH) throw new TooMuchWork();
      return result;
    };
    if (isListConcat(func)) return celFunc(func.name, func.arguments, func.result, concatenate);
    return func.target === undefined
      ? celFunc(func.name, func.arguments, func.result, (...args: CelValue[]) => pay(undefined, args))
      : celMethod(func.name, func.target, func.arguments, func.result, function (...args: CelValue[]) {
          return pay(this, args);
        });
  });
}

/** Functions that look into what lists and maps hold. */
const DEEP = new Set(['_==_', '_!=_', '@in']);

function weigh(value: CelValue, deep: boolean): void {
  if (typeof value === 'string' || value instanceof Uint8Array) {
    charge(value.length / TEXT_PER_UNIT);
  } else if (deep && isCelList(value)) {
    for (const item of value) weighItem(item);
  } else if (deep && isCelMap(value)) {
    for (const [, item] of value) weighItem(item);
  }
}

function weighItem(item: CelValue): void {
  charge(0.1);
  weigh(item, true);
}

/**
 * The library's concatenation refers to both lists, so that what `map` makes is as deep as it is long: reading it takes the
 * square of its length, and ends in an overflow of the stack. Here it is flat.
 */
function concatenate(left: CelValue, right: CelValue): CelList {
  const items = [...itemsOf(left as CelList), ...itemsOf(right as CelList)];
  charge(0.25 + items.length / ITEMS_PER_UNIT);
  const list = celList(items);
  made.set(list, items);
  return list;
}

const made = new WeakMap<CelList, readonly CelValue[]>();

function itemsOf(list: CelList): readonly CelValue[] {
  return made.get(list) ?? [...list];
}

function isListConcat(func: CelFunc): boolean {
  return func.name === '_+_' && func.arguments.every((type: CelType) => type.kind === 'list');
}
