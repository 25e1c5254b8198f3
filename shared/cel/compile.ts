import { type CelEnv, type CelType, celType, type CelValue, isCelError, plan } from '@bufbuild/cel';
import { BUDGET, refill, MessageBudget, spent } from './work-limit';
import { checkTypes, nameOf } from './type-check';
import {
  COUNTER,
  type CounterCall,
  isCounter,
  readCounter,
  readCountersBy,
  type ReadCounter,
} from './aggregate-functions';
import { type EnvironmentName, environmentOf, STEP } from './environment';
import { type Failure, failureOf, thrownFailure } from './evaluation-error';
import { Kept } from './kept';
import { Patterns, usePatterns } from './patterns';
import {
  type Expr,
  isLiteral,
  mistake,
  type Mistake,
  parseExpression,
  partsOf,
  sizeOf,
  textOf,
  type Tree,
} from './syntax';
import { type Variables, messageVariables } from './json-values';
import { type Destination } from '../model/config';
import { type Message } from '../model/message';
import { type FilterMatcher } from '../model/route';

/**
 * Compiles conditions in CEL, the Common Expression Language (docs/guide/filters.md).
 *
 * Invariant: for every text and every message, nothing here throws or takes longer than some
 * milliseconds. A failed evaluation counts as no match, and returns its reason.
 */

/** The result. A failure counts as no match; callers count and show its reason. */
type Evaluation = boolean | Failure;

export interface Expression {
  kind: 'expression';
  text: string;
  /** the counters that it reads, each once; none in a filter */
  counters: readonly CounterCall[];
  /** the memory that it takes, beside the automata of its patterns */
  bytes: number;
  /**
   * @param read reads the evaluated user's counters; needed if there are `counters`
   * @param units limit of its work (`work-limit.ts`)
   */
  evaluate: (variables: Variables, read?: ReadCounter, units?: number) => Evaluation;
}

/**
 * Compiles an expression whose result is true or false.
 * @returns the expression, which can be evaluated many times, or the first mistake and its position
 */
export function compileExpression(text: string, name: EnvironmentName): Expression | Mistake {
  const compiled = compileTo(text, name, { wrongType: notACondition, read: toBoolean });
  if (compiled.kind === 'mistake') return compiled;
  const { counters, bytes, evaluate } = compiled;
  return { kind: 'expression', text, counters, bytes, evaluate };
}

function notACondition(type: CelType): string | undefined {
  if (type.name === 'bool' || type.name === 'dyn') return undefined;
  return `The expression is ${nameOf(type)} but must be true or false. Compare it with a value.`;
}

function toBoolean(result: CelValue, tree: Tree): Evaluation {
  if (typeof result === 'boolean') return result;
  const position = tree.positionOf(tree.expr);
  return {
    code: 'type',
    message: `the result is ${nameOf(celType(result))}, not true or false`,
    position,
  };
}

/** The expected result of an expression. */
export interface Result<T> {
  /**
   * Returns the mistake in an expression of this type, in a sentence or two; undefined if it may be
   * evaluated.
   */
  wrongType: (type: CelType) => string | undefined;
  /** Converts a result. Its work is charged to the evaluation. It may throw. */
  read: (result: CelValue, tree: Tree, variables: Variables) => T | Failure;
}

interface Compiled<T> {
  kind: 'compiled';
  type: CelType;
  counters: readonly CounterCall[];
  bytes: number;
  evaluate: (variables: Variables, read?: ReadCounter, units?: number) => T | Failure;
}

/** Compiles an expression of any result. */
export function compileTo<T>(
  text: string,
  name: EnvironmentName,
  result: Result<T>,
): Compiled<T> | Mistake {
  const tree = parseExpression(text);
  if (tree.kind === 'mistake') return tree;
  const environment = environmentOf(name);
  const checked = checkTypes(tree, environment);
  if ('kind' in checked) return checked;
  const wrong = result.wrongType(checked.type);
  if (wrong !== undefined) return mistake(wrong, tree.positionOf(tree.expr));
  const prepared = prepare(tree, environment.charged);
  if ('kind' in prepared) return prepared;
  const { counters, patterns } = prepared;
  return {
    kind: 'compiled',
    type: checked.type,
    counters,
    bytes: EXPRESSION_BYTES + sizeOf(tree.expr) * PART_BYTES + patterns.bytes,
    evaluate: evaluator(tree, environment.charged, prepared, result),
  };
}

/** A compiled expression beside its parts, and each of these. */
const EXPRESSION_BYTES = 2_000;
const PART_BYTES = 400;

/** What an evaluation reads beside the variables. */
interface Prepared {
  counters: CounterCall[];
  patterns: Patterns;
}

/**
 * Rewrites the tree for evaluation: counters become indexes, each step of a loop is charged,
 * patterns are compiled.
 */
function prepare(tree: Tree, env: CelEnv): Prepared | Mistake {
  const counters = new Map<string, { index: number; call: CounterCall }>();
  const patterns = new Patterns();
  const walk = (expr: Expr): Mistake | undefined => {
    if (isCounter(expr)) {
      const call = readCounter(expr);
      if ('at' in call) return mistake(call.message, tree.positionOf(call.at));
      const key = JSON.stringify(call);
      const known = counters.get(key) ?? { index: counters.size, call };
      counters.set(key, known);
      expr.exprKind = callOf(COUNTER, [
        constant(expr, { case: 'int64Value', value: BigInt(known.index) }),
      ]);
      return undefined;
    }
    const kind = expr.exprKind;
    for (const part of partsOf(expr)) {
      const found = walk(part);
      if (found) return found;
    }
    if (kind.case === 'callExpr' && kind.value.function === 'matches') {
      return patternMistake(expr, tree, patterns);
    }
    if (kind.case === 'callExpr' && kind.value.function.startsWith('get')) {
      return zoneMistake(kind.value.args, tree);
    }
    if (kind.case === 'callExpr' && partsOf(expr).every(isLiteral)) {
      return literalsMistake(expr, tree, env);
    }
    if (kind.case === 'comprehensionExpr') payForSteps(expr);
    return undefined;
  };
  const calls = () => Array.from(counters.values(), ({ call }) => call);
  return walk(tree.expr) ?? { counters: calls(), patterns };
}

/** An unknown literal zone would fail for every message. */
function zoneMistake([zone]: readonly Expr[], tree: Tree): Mistake | undefined {
  const name = zone && textOf(zone);
  if (!zone || name === undefined || /^[+-]?\d\d:\d\d$/.test(name)) return undefined;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return undefined;
  } catch {
    return mistake(`Unknown time zone ${JSON.stringify(name)}.`, tree.positionOf(zone));
  }
}

/** What fails with literals, such as `timestamp("tomorrow")`, would fail for every message. */
function literalsMistake(expr: Expr, tree: Tree, env: CelEnv): Mistake | undefined {
  const prepared = { counters: [], patterns: new Patterns() };
  const anything = { wrongType: () => undefined, read: () => undefined };
  const failure = evaluator({ ...tree, expr }, env, prepared, anything)({});
  return failure && mistake(`This always fails: ${failure.message}.`, tree.positionOf(expr));
}

/** Compiles the pattern, which the type checker has verified to be a literal. */
function patternMistake(expr: Expr, tree: Tree, patterns: Patterns): Mistake | undefined {
  const pattern = expr.exprKind.case === 'callExpr' ? expr.exprKind.value.args.at(-1) : undefined;
  try {
    patterns.add(textOf(pattern) ?? '');
    return undefined;
  } catch (error) {
    const reason = (error as Error).message.replace(/^error parsing regexp: /, '');
    return mistake(`Invalid pattern: ${reason}.`, tree.positionOf(pattern ?? expr));
  }
}

/** Charges each step of a loop by the size of its body. */
function payForSteps(expr: Expr): void {
  const loop = expr.exprKind.case === 'comprehensionExpr' ? expr.exprKind.value : undefined;
  if (!loop?.loopCondition || !loop.loopStep) return;
  const units = 0.5 + sizeOf(loop.loopStep) / 16;
  const { loopCondition } = loop;
  const price = constant(expr, { case: 'doubleValue', value: units });
  loop.loopCondition = { ...loopCondition, exprKind: callOf(STEP, [loopCondition, price]) };
}

type Kind = Expr['exprKind'];
type Constants = Extract<Kind, { case: 'constExpr' }>['value']['constantKind'];
type Constant = Extract<Constants, { case: 'int64Value' | 'doubleValue' }>;

function callOf(name: string, args: Expr[]): Kind {
  return { case: 'callExpr', value: { $typeName: 'cel.expr.Expr.Call', function: name, args } };
}

function constant({ id }: Expr, constantKind: Constant): Expr {
  const value = { $typeName: 'cel.expr.Constant', constantKind } as const;
  return { $typeName: 'cel.expr.Expr', id, exprKind: { case: 'constExpr', value } };
}

function evaluator<T>(
  tree: Tree,
  env: CelEnv,
  { counters, patterns }: Prepared,
  { read: convert }: Result<T>,
): Compiled<T>['evaluate'] {
  const run = plan(env, tree.expr);
  return (variables, read = () => undefined, units = BUDGET) => {
    refill(units);
    if (counters.length > 0) readCountersBy(counters, read);
    if (patterns.size > 0) usePatterns(patterns);
    // Creating an error's stack costs more than the evaluation, and the stack is not used.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    try {
      const result = run(variables);
      return isCelError(result) ? failureOf(result, tree) : convert(result, tree, variables);
    } catch (error) {
      return thrownFailure(error, tree);
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  };
}

/** The work of one evaluation, and its limit. */
interface FilterWork {
  units: number;
  limit: number;
}

export type OnCostly = (destination: Destination, work: FilterWork) => void;

const filters = new Kept<Destination, Expression | Mistake>(({ filter = 'true' }) =>
  compileExpression(filter, 'filter'),
);

/**
 * Returns a function that evaluates destinations' filters for one message. The message's variables
 * are created on first use.
 * @param mostFilters how many may be evaluated; they share the work limit of one message
 * @param onCostly called for each filter that takes half of a message's work limit, or all of its
 *   own, its compilation included, if it is compiled for this message. Absent: for a process that
 *   evaluates now and then, without a price of compilation, since its memory is not the router's
 */
export function filtersOf(message: Message, mostFilters = 1, onCostly?: OnCostly): FilterMatcher {
  let variables: Variables | undefined;
  const budget = new MessageBudget(mostFilters);
  return (destination) => {
    const limit = budget.next();
    const price = onCostly ? filters.priceOf(destination) : 0;
    if (price > limit) {
      onCostly?.(destination, { units: price, limit });
      return filters.refuse();
    }
    const expression = filters.of(destination);
    // It was valid when it was set, under the rules of another version.
    if (expression.kind === 'mistake') return expression.message;
    variables ??= messageVariables(message);
    const result = expression.evaluate(variables, undefined, limit - price);
    const units = price + spent();
    budget.take(units);
    if (units >= BUDGET / 2 || units >= limit) onCostly?.(destination, { units, limit });
    return typeof result === 'boolean' ? result : result.message;
  };
}
