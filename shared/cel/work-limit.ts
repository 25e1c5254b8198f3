import {
  celFunc,
  type CelFunc,
  type CelList,
  celList,
  celMethod,
  CelScalar,
  type CelType,
  type CelValue,
  isCelError,
  isCelList,
  isCelMap,
  listType,
} from '@bufbuild/cel';

/**
 * Limits the work of one evaluation, and of all filters of one message together.
 *
 * Each step of a loop and each call of a function is charged to a budget, by the size of its input:
 * a unit is a microsecond or a few. When the budget is used up, the evaluation fails. Everything is
 * charged: even without a loop, `in` and `==` read whole lists and objects of a message each time
 * the expression names them.
 */
export const BUDGET = 2_000;
/**
 * A third of a second at most, far from a session's end, for any number of filters on the message.
 */
const MESSAGE_BUDGET = 100_000;
/** Limit of a text that an expression makes by `+`. */
const MAX_TEXT_LENGTH = 65_536;
/** Characters that a function reads for one unit. */
export const TEXT_PER_UNIT = 256;
const ITEMS_PER_UNIT = 256;
/** Characters of the text times those of what is looked for, for one unit. */
const COMPARISONS_PER_UNIT = 5_000;
/** The cost of a time zone (`timestamp.getHours("Europe/Berlin")`). */
const TIME_ZONE_UNITS = 100;

let given = BUDGET;
let left = BUDGET;

/** Begins an evaluation with this limit of units. */
export function refill(units: number): void {
  given = left = units;
}

/** Returns the units that the last evaluation took. */
export function spent(): number {
  return given - Math.max(0, left);
}

/** Shares the budget of one message among its filters. */
export class MessageBudget {
  #left = MESSAGE_BUDGET;

  /** @param filters most filters that will be evaluated */
  constructor(private filters: number) {}

  /** Returns the units of the next filter: an even part of the rest. */
  next(): number {
    return Math.min(BUDGET, this.#left / Math.max(1, this.filters--));
  }

  take(units: number): void {
    this.#left -= units;
  }
}

export const TOO_MUCH_WORK = 'the work limit for one message is exceeded';

export class TooMuchWork extends Error {
  constructor() {
    super(TOO_MUCH_WORK);
  }
}

/** @throws TooMuchWork */
export function charge(units: number): void {
  left -= units;
  if (left < 0) throw new TooMuchWork();
}

/** Wraps functions so that each call is charged. */
export function charged(funcs: Iterable<CelFunc>): CelFunc[] {
  return Array.from(funcs, (func) => {
    const deep = DEEP.has(func.name);
    const pay = (target: CelValue | undefined, args: CelValue[]): CelValue => {
      charge(func.name.startsWith('get') && args.length > 0 ? TIME_ZONE_UNITS : 0.25);
      if (target !== undefined) weigh(target, deep);
      for (const arg of args) weigh(arg, deep);
      if (SEARCHES.has(func.name)) charge(comparisons(target, args[0]) / COMPARISONS_PER_UNIT);
      const result = func.call(0, target, args);
      if (result === undefined) throw new Error(`found no matching overload for '${func.name}'`);
      if (isCelError(result)) throw result;
      if (typeof result === 'string' && result.length > MAX_TEXT_LENGTH) throw new TooMuchWork();
      return result;
    };
    if (isListConcat(func)) return celFunc(func.name, func.arguments, func.result, concatenate);
    return func.target === undefined
      ? celFunc(func.name, func.arguments, func.result, (...args: CelValue[]) =>
          pay(undefined, args),
        )
      : celMethod(
          func.name,
          func.target,
          func.arguments,
          func.result,
          function (...args: CelValue[]) {
            return pay(this, args);
          },
        );
  });
}

/** Functions that compare the contents of lists and maps. */
const DEEP = new Set(['_==_', '_!=_', '@in']);

/** Functions that compare what is looked for at every place of a text. */
const SEARCHES = new Set(['indexOf', 'lastIndexOf']);

function comparisons(text: CelValue | undefined, wanted: CelValue | undefined): number {
  return typeof text === 'string' && typeof wanted === 'string' ? text.length * wanted.length : 0;
}

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
 * Concatenates two lists into a flat one. The library's concatenation refers to both lists, so the
 * result of `map` is as deep as it is long: reading it takes quadratic time, and ends in a stack
 * overflow.
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

/**
 * Joins texts of a list, and stops at the limit of a text: the library would build the whole text
 * first.
 */
function join(this: CelList, separator = ''): string {
  let text = '';
  let isFirst = true;
  for (const item of this) {
    if (typeof item !== 'string') {
      throw new Error(`found no matching overload for 'join' applied to '(list)'`);
    }
    text += isFirst ? item : separator + item;
    isFirst = false;
    charge(0.1);
    if (text.length > MAX_TEXT_LENGTH) throw new TooMuchWork();
  }
  return text;
}

const LIST = listType(CelScalar.DYN);
/** `list.join()` and `list.join(separator)`. */
export const boundedJoin: readonly CelFunc[] = [
  celMethod('join', LIST, [], CelScalar.STRING, join),
  celMethod('join', LIST, [CelScalar.STRING], CelScalar.STRING, join),
];

function isListConcat(func: CelFunc): boolean {
  return func.name === '_+_' && func.arguments.every((type: CelType) => type.kind === 'list');
}
