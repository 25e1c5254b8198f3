import { type Expr, parseExpression, textOf } from '../../../shared/cel/syntax';
import { mayLack } from './rows-to-cel';
import {
  aRule,
  type Group,
  type Kind,
  kindOf,
  MAX_DEPTH,
  type Row,
  rowProblems,
  type Rule,
  type Test,
  UNIT_SECONDS,
  UNITS,
} from './rows';

/**
 * Converts a CEL condition to rows, if rows can represent it. Pure.
 *
 * The rows match exactly the same users as the text. They may be written differently: a comparison
 * with a value that a user may lack is read with or without `has`, because a failure does not
 * match.
 */

/** @returns undefined if rows cannot represent the text, or the text is invalid */
export function rowsOf(text: string): Group | undefined {
  const tree = parseExpression(text);
  if (tree.kind === 'mistake') return undefined;
  const row = readAny(tree.expr, 1);
  const group = row && ('join' in row ? row : { join: 'all' as const, rows: [row] });
  return group && rowProblems(group).size === 0 ? group : undefined;
}

function readAny(expr: Expr, depth: number): Row | undefined {
  if (depth > MAX_DEPTH) return undefined;
  const parts = flat(expr, '_||_');
  if (parts.length === 1) return readAll(flat(expr, '_&&_'), depth);
  return groupOf(
    'any',
    parts.map((part) => readAll(flat(part, '_&&_'), depth + 1)),
  );
}

function readAll(parts: Expr[], depth: number): Row | undefined {
  const rows: (Row | undefined)[] = [];
  for (let i = 0; i < parts.length; i++) {
    const [part, next] = [parts[i], parts[i + 1]];
    if (!part) break;
    const rule = readRule(part);
    const after = next && readComparison(next);
    if (rule?.test === 'set' && after && sameValue(rule, after) && mayLack(after)) {
      rows.push(after);
      i++;
    } else if (
      rule?.test === 'set' &&
      after &&
      sameValue(rule, after) &&
      after.subject === 'trait'
    ) {
      // In a row, "is not" matches a missing trait. This text requires the trait.
      rows.push(rule, after);
      i++;
    } else {
      rows.push(rule ?? (flat(part, '_||_').length > 1 ? readAny(part, depth + 1) : undefined));
    }
  }
  return groupOf('all', rows);
}

function groupOf(join: Group['join'], read: (Row | undefined)[]): Row | undefined {
  const rows = read.filter((row) => row !== undefined);
  if (rows.length < read.length) return undefined;
  return rows.length === 1 ? rows[0] : { join, rows };
}

/** Lists the operands of `a && b && c`, however nested. */
function flat(expr: Expr, operator: string): Expr[] {
  const call = callOf(expr);
  return call?.name === operator ? call.args.flatMap((arg) => flat(arg, operator)) : [expr];
}

function readRule(expr: Expr): Rule | undefined {
  const trait = traitAsked(expr);
  if (trait !== undefined) return aRule({ trait, test: 'set' });
  const call = callOf(expr);
  const [arg] = call?.args ?? [];
  if (call?.name === '!_' && arg) return readNot(arg);
  const found = readComparison(expr);
  // Without `has`, a missing trait fails. As a row it would match.
  return found?.subject === 'trait' && found.test === 'is_not' ? undefined : found;
}

/** `!has(t)`, and `!(has(t) && t == v)`. */
function readNot(expr: Expr): Rule | undefined {
  const trait = traitAsked(expr);
  if (trait !== undefined) return aRule({ trait, test: 'unset' });
  const [asked, compared, more] = flat(expr, '_&&_');
  const found = compared && readComparison(compared);
  if (!asked || !found || more || found.subject !== 'trait' || found.test !== 'is') {
    return undefined;
  }
  return traitAsked(asked) === found.trait ? { ...found, test: 'is_not' } : undefined;
}

const TESTS: Readonly<Record<string, Test>> = {
  '_==_': 'is',
  '_!=_': 'is_not',
  '_>_': 'greater',
  '_>=_': 'at_least',
  '_<_': 'less',
  '_<=_': 'at_most',
};

type Value = Pick<Rule, 'subject'> & Partial<Rule>;

/** Reads a value, an operator and a literal, in the forms that rows have. */
function readComparison(expr: Expr): Rule | undefined {
  const call = callOf(expr);
  if (!call) return undefined;
  const left = call.target ?? call.args[0];
  const value = left && valueOf(left);
  const given = literalOf(call.target ? call.args[0] : call.args[1]);
  const test = call.name === 'contains' && call.target ? 'contains' : TESTS[call.name];
  if (!value || !given || !test) return undefined;
  return fits(value.subject, test, given.kind) ? ruleOf(value, test, given) : undefined;
}

type Literal = { kind: Kind | 'null'; text: string };

function fits(subject: Rule['subject'], test: Test, kind: Literal['kind']): boolean {
  if (subject === 'count' || subject === 'sum') {
    return kind === 'number' && test !== 'is_not' && test !== 'contains';
  }
  if (kind === 'null') return subject !== 'trait' && (test === 'is' || test === 'is_not');
  if (test === 'contains') return kind === 'text';
  return test === 'is' || test === 'is_not' || kind === 'number';
}

function ruleOf(value: Value, test: Test, { kind, text }: Literal): Rule | undefined {
  if (kind === 'null') return aRule({ ...value, test: test === 'is' ? 'unset' : 'set' });
  if (value.subject === 'count' && !/^\d{1,15}$/.test(text)) return undefined;
  const rule = aRule({ ...value, test, value: text });
  // If a row has no choice of kind, keep its default.
  return kindOf({ ...rule, kind }) === kindOf(rule) ? rule : { ...rule, kind };
}

function valueOf(expr: Expr): Value | undefined {
  const trait = traitRead(expr);
  if (trait !== undefined) return { subject: 'trait', trait };
  const call = callOf(expr);
  if (!call || call.target) return undefined;
  const [event, ...rest] = call.args;
  const name = plainText(event);
  if (name === undefined) return undefined;
  switch (call.name) {
    case 'count':
      return windowed({ subject: 'count', event: name }, rest);
    case 'sum':
    case 'first':
    case 'last': {
      const property = plainText(rest.shift());
      return property === undefined
        ? undefined
        : windowed({ subject: call.name, event: name, property }, rest);
    }
    default:
      return undefined;
  }
}

function windowed(value: Value, [window, more]: Expr[]): Value | undefined {
  if (!window) return value;
  const call = callOf(window);
  const text = call?.name === 'duration' ? textOf(call.args[0]) : undefined;
  const seconds = text === undefined || more ? undefined : secondsOf(text);
  const unit = UNITS.find((each) => seconds !== undefined && seconds % UNIT_SECONDS[each] === 0);
  if (
    seconds === undefined ||
    unit === undefined ||
    value.subject === 'first' ||
    value.subject === 'last'
  ) {
    return undefined;
  }
  return { ...value, window: String(seconds / UNIT_SECONDS[unit]), unit };
}

/** Parses durations like `1h30m`, in whole seconds. */
function secondsOf(text: string): number | undefined {
  const parts = /^(?:(\d{1,6})h)?(?:(\d{1,8})m)?(?:(\d{1,9})s)?$/.exec(text);
  if (!parts) return undefined;
  const [hours, minutes, seconds] = parts
    .slice(1)
    .map((part: string | undefined) => Number(part ?? 0));
  const total = (hours ?? 0) * 3_600 + (minutes ?? 0) * 60 + (seconds ?? 0);
  return total > 0 && total <= 366 * 86_400 ? total : undefined;
}

/** `has(user.traits.x)`, `"x" in user.traits` → x */
function traitAsked(expr: Expr): string | undefined {
  const kind = expr.exprKind;
  if (kind.case === 'selectExpr') {
    return kind.value.testOnly && isTraits(kind.value.operand) ? kind.value.field : undefined;
  }
  const call = callOf(expr);
  return call?.name === '@in' && isTraits(call.args[1]) ? plainText(call.args[0]) : undefined;
}

/** `user.traits.x`, `user.traits["x"]` → x */
function traitRead(expr: Expr): string | undefined {
  const kind = expr.exprKind;
  if (kind.case === 'selectExpr') {
    return !kind.value.testOnly && isTraits(kind.value.operand) ? kind.value.field : undefined;
  }
  const call = callOf(expr);
  return call?.name === '_[_]' && isTraits(call.args[0]) ? plainText(call.args[1]) : undefined;
}

function isTraits(expr: Expr | undefined): boolean {
  const kind = expr?.exprKind;
  if (kind?.case !== 'selectExpr' || kind.value.testOnly || kind.value.field !== 'traits') {
    return false;
  }
  const user = kind.value.operand?.exprKind;
  return user?.case === 'identExpr' && user.value.name === 'user';
}

/** Accept only names without surrounding space. Others need the text form. */
function plainText(expr: Expr | undefined): string | undefined {
  const text = textOf(expr);
  return text === undefined || text === '' || text.trim() !== text ? undefined : text;
}

function literalOf(expr: Expr | undefined): Literal | undefined {
  const call = expr && callOf(expr);
  if (call?.name === '-_') {
    const inner = literalOf(call.args[0]);
    return inner?.kind === 'number' ? { kind: 'number', text: `-${inner.text}` } : undefined;
  }
  const kind = expr?.exprKind;
  if (kind?.case !== 'constExpr') return undefined;
  const constant = kind.value.constantKind;
  if (constant.case === 'stringValue') return { kind: 'text', text: constant.value };
  if (constant.case === 'boolValue') return { kind: 'boolean', text: String(constant.value) };
  if (constant.case === 'nullValue') return { kind: 'null', text: '' };
  if (constant.case !== 'int64Value' && constant.case !== 'doubleValue') return undefined;
  const number = Number(constant.value);
  // Whole numbers that a double cannot hold exactly need the text form.
  const exact =
    constant.case === 'int64Value' ? Number.isSafeInteger(number) : Number.isFinite(number);
  return exact ? { kind: 'number', text: String(number) } : undefined;
}

function callOf(expr: Expr): { name: string; target: Expr | undefined; args: Expr[] } | undefined {
  const kind = expr.exprKind;
  if (kind.case !== 'callExpr') return undefined;
  return { name: kind.value.function, target: kind.value.target, args: [...kind.value.args] };
}

function sameValue(a: Rule, b: Rule): boolean {
  return (['subject', 'trait', 'event', 'property'] as const).every(
    (field) => a[field] === b[field],
  );
}
