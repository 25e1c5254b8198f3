import { type CelFunc, CelScalar, type CelType, listType, mapType } from '@bufbuild/cel';
import { type Environment } from './environment';
import { type Expr, mistake, type Mistake, operatorOf, textOf, type Tree } from './syntax';

/**
 * Finds mistakes of an expression when it is saved, before it meets a message: unknown names and
 * functions, and operations on unsupported types. Values of a message have the type `dyn` (any),
 * which only the evaluation can check.
 * The library's own checker covers only names and literals; this one uses the library's table of
 * functions.
 */

const { BOOL, BYTES, DOUBLE, DYN, INT, NULL, STRING, TYPE, UINT } = CelScalar;
const TYPE_NAMES = new Set([
  'int',
  'uint',
  'double',
  'bool',
  'string',
  'bytes',
  'list',
  'map',
  'null_type',
  'type',
]);
const MIN_INT = -(2n ** 63n);
const MAX_INT = 2n ** 63n - 1n;
const MAX_UINT = 2n ** 64n - 1n;

/** Carries the first mistake out of the tree. */
class FirstMistake extends Error {
  constructor(readonly mistake: Mistake) {
    super(mistake.message);
  }
}

interface Checking {
  environment: Environment;
  tree: Tree;
  /** variables of the enclosing loops */
  loops: ReadonlySet<string>;
}

/** @returns the type of the result, or the first mistake */
export function checkTypes(tree: Tree, environment: Environment): { type: CelType } | Mistake {
  try {
    return { type: typeOf(tree.expr, { environment, tree, loops: new Set() }) };
  } catch (error) {
    if (error instanceof FirstMistake) return error.mistake;
    throw error;
  }
}

/** Returns the name of a type for people. */
export function nameOf(type: CelType): string {
  return type.name === 'dyn'
    ? 'anything'
    : type.name.replace(/^google\.protobuf\./, '').toLowerCase();
}

function fail(at: Expr, message: string, { tree }: Checking): never {
  throw new FirstMistake(mistake(message, tree.positionOf(at)));
}

function typeOf(expr: Expr, checking: Checking): CelType {
  const kind = expr.exprKind;
  switch (kind.case) {
    case 'constExpr':
      return constantType(expr, checking);
    case 'identExpr':
      return nameType(expr, kind.value.name, checking);
    case 'selectExpr':
      return selectType(expr, checking);
    case 'callExpr':
      return callType(expr, checking);
    case 'listExpr':
      for (const element of kind.value.elements) typeOf(element, checking);
      return listType(DYN);
    case 'structExpr':
      if (kind.value.messageName !== '') {
        fail(expr, 'Message types are not supported. Write a map as {"key": value}.', checking);
      }
      for (const { keyKind, value } of kind.value.entries) {
        if (keyKind.case === 'mapKey') typeOf(keyKind.value, checking);
        if (value) typeOf(value, checking);
      }
      return mapType(DYN, DYN);
    case 'comprehensionExpr':
      return loopType(expr, checking);
    case undefined:
      return fail(expr, 'The expression cannot be parsed.', checking);
  }
}

function constantType(expr: Expr, checking: Checking): CelType {
  const constant =
    expr.exprKind.case === 'constExpr' ? expr.exprKind.value.constantKind : undefined;
  switch (constant?.case) {
    case 'boolValue':
      return BOOL;
    case 'bytesValue':
      return BYTES;
    case 'doubleValue':
      return DOUBLE;
    case 'nullValue':
      return NULL;
    case 'stringValue':
      return STRING;
    case 'int64Value':
      if (constant.value < MIN_INT || constant.value > MAX_INT) {
        fail(expr, 'The number is too large.', checking);
      }
      return INT;
    case 'uint64Value':
      if (constant.value > MAX_UINT) fail(expr, 'The number is too large.', checking);
      return UINT;
    case 'durationValue':
    case 'timestampValue':
    case undefined:
      return fail(expr, 'The expression cannot be parsed.', checking);
  }
}

function nameType(expr: Expr, written: string, checking: Checking): CelType {
  const name = written.replace(/^\./, '');
  if (checking.loops.has(name)) return DYN;
  const { variables } = checking.environment;
  const type = variables.get(name);
  if (type) return type;
  if (TYPE_NAMES.has(name)) return TYPE;
  const known = [...variables.keys()].join(', ');
  return fail(
    expr,
    `Unknown name ${JSON.stringify(written)}. Known names: ${known}. Put text in quotes.`,
    checking,
  );
}

function selectType(expr: Expr, checking: Checking): CelType {
  const select = expr.exprKind.case === 'selectExpr' ? expr.exprKind.value : undefined;
  const operand = select?.operand;
  if (!select || !operand) return fail(expr, 'The expression cannot be parsed.', checking);
  const type = typeOf(operand, checking);
  if (type.kind !== 'map' && type !== DYN) {
    fail(
      expr,
      `${nameOf(type)} has no fields. Use .${select.field} on an object such as properties.`,
      checking,
    );
  }
  if (select.testOnly) return BOOL;
  return type.kind === 'map' ? type.value : DYN;
}

function loopType(expr: Expr, checking: Checking): CelType {
  const loop = expr.exprKind.case === 'comprehensionExpr' ? expr.exprKind.value : undefined;
  if (!loop?.iterRange || !loop.accuInit || !loop.loopStep || !loop.loopCondition || !loop.result) {
    return fail(expr, 'The expression cannot be parsed.', checking);
  }
  const range = typeOf(loop.iterRange, checking);
  if (range.kind !== 'list' && range.kind !== 'map' && range !== DYN) {
    fail(expr, `Only lists and maps can be iterated; this is ${nameOf(range)}.`, checking);
  }
  const inner = { ...checking, loops: new Set([...checking.loops, loop.iterVar, loop.accuVar]) };
  const initial = typeOf(loop.accuInit, checking);
  typeOf(loop.loopCondition, inner);
  typeOf(loop.loopStep, inner);
  // `exists_one` counts, and compares at the end.
  const result = typeOf(loop.result, inner);
  return result === DYN ? initial : result;
}

function callType(expr: Expr, checking: Checking): CelType {
  const call = expr.exprKind.case === 'callExpr' ? expr.exprKind.value : undefined;
  if (!call) return fail(expr, 'The expression cannot be parsed.', checking);
  const { function: name, args } = call;
  const known = checking.environment.functions.get(name);
  if (!known && !BUILT_IN.has(name)) fail(expr, unknownFunction(name), checking);
  // After the check of the name: otherwise the variable of a misspelled loop would be reported
  // instead.
  const target = call.target && typeOf(call.target, checking);
  const types = args.map((arg) => typeOf(arg, checking));
  const builtIn = BUILT_IN.get(name)?.(types);
  if (typeof builtIn === 'string') return fail(expr, builtIn, checking);
  if (builtIn) {
    return 'at' in builtIn ? fail(args[builtIn.at] ?? expr, builtIn.message, checking) : builtIn;
  }
  if (name === 'matches') checkPattern(expr, target ? args[0] : args[1], checking);
  const fitting = (known ?? []).filter((func) => fits(func, target, types));
  const [first] = fitting;
  if (!first) return fail(expr, notTaken(name, target, types), checking);
  return fitting.every((func) => func.result.name === first.result.name) ? first.result : DYN;
}

/**
 * Requires a literal, since a pattern is compiled once. A pattern from a message could be anything.
 */
function checkPattern(expr: Expr, pattern: Expr | undefined, checking: Checking): void {
  if (textOf(pattern) === undefined) {
    fail(pattern ?? expr, 'matches() needs a literal pattern.', checking);
  }
}

/**
 * @returns the result's type, or the mistake (with its argument); undefined: the functions of this
 *   name decide
 */
type Rule = (
  types: readonly CelType[],
) => CelType | string | { at: number; message: string } | undefined;

function logic(word: string): Rule {
  return (types) => {
    const at = types.findIndex((type) => !assignable(type, BOOL));
    const wrong = types[at];
    return wrong
      ? { at, message: `${word} connects two conditions; this is ${nameOf(wrong)}.` }
      : BOOL;
  };
}

/** Reports values that can never be equal, which is a mistake of the author. */
function equality([left, right]: readonly CelType[]): string | undefined {
  if (!left || !right || comparable(left, right)) return undefined;
  return `${nameOf(left)} and ${nameOf(right)} are never equal.`;
}

function index([operand, key]: readonly CelType[]): CelType | string {
  if (!operand || !key || operand === DYN) return DYN;
  if (operand.kind === 'list') return operand.element;
  if (operand.kind !== 'map') return `[] works on lists and maps; this is ${nameOf(operand)}.`;
  return operand.key === STRING && !assignable(key, STRING)
    ? 'Keys are text: ["key"].'
    : operand.value;
}

function choice([condition, one, other]: readonly CelType[]): CelType | string {
  if (condition && !assignable(condition, BOOL)) {
    return `? needs a condition before it; this is ${nameOf(condition)}.`;
  }
  return one && other && one.name === other.name ? one : DYN;
}

const BUILT_IN: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['_&&_', logic('&&')],
  ['_||_', logic('||')],
  ['_?_:_', choice],
  ['_[_]', index],
  ['@not_strictly_false', () => BOOL],
  ['_==_', equality],
  ['_!=_', equality],
]);

const NUMBERS = new Set<CelType>([INT, UINT, DOUBLE]);

function comparable(left: CelType, right: CelType): boolean {
  return (
    left === NULL ||
    right === NULL ||
    (NUMBERS.has(left) && NUMBERS.has(right)) ||
    assignable(left, right)
  );
}

function assignable(type: CelType, parameter: CelType): boolean {
  return (
    type === DYN ||
    parameter === DYN ||
    (type.kind === parameter.kind && type.name === parameter.name)
  );
}

function fits(func: CelFunc, target: CelType | undefined, types: readonly CelType[]): boolean {
  if (
    (func.target === undefined) !== (target === undefined) ||
    func.arguments.length !== types.length
  ) {
    return false;
  }
  if (func.target && target && !assignable(target, func.target)) return false;
  return func.arguments.every((parameter, at) => assignable(types[at] ?? DYN, parameter));
}

function unknownFunction(name: string): string {
  if (name === 'has') return 'has() takes a field: has(properties.total).';
  if (LOOPS.has(name)) {
    return `${name}() needs a name for the item: properties.products.${name}(p, p.price > 10).`;
  }
  return `Unknown function ${JSON.stringify(name)}.`;
}

const LOOPS = new Set(['all', 'exists', 'exists_one', 'existsOne', 'map', 'filter']);

function notTaken(name: string, target: CelType | undefined, types: readonly CelType[]): string {
  const given = types.map(nameOf).join(' and ');
  const operator = operatorOf(name);
  if (operator !== undefined) return `${operator} does not take ${given}.`;
  const takes = `does not take ${given === '' ? 'nothing' : given}`;
  return target ? `${name}() of ${nameOf(target)} ${takes}.` : `${name}() ${takes}.`;
}
