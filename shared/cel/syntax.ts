import { parse } from '@bufbuild/cel';

/** Parses the text of an expression: returns its tree, or the first mistake with its position. */

export type Expr = NonNullable<ReturnType<typeof parse>['expr']>;

/** Lines and columns count from 1, the offset from 0, in UTF-16 units as editors do. */
export interface TextPosition {
  offset: number;
  line: number;
  column: number;
}

export interface Mistake {
  kind: 'mistake';
  /** the mistake and its remedy, as a sentence or two */
  message: string;
  position: TextPosition;
}

export interface Tree {
  kind: 'tree';
  text: string;
  expr: Expr;
  /** the position of a part of the tree in the text */
  positionOf(expr: { id: bigint }): TextPosition;
}

/** Enough for about fifty event names in a list. */
const MAX_TEXT_LENGTH = 2_000;
const MAX_NODES = 600;
/**
 * Also of brackets, which are counted before the library parses: it takes seconds for hundreds that
 * are not closed, and 150 ms for the worst text within the limits.
 */
const MAX_DEPTH = 60;

/** Parses an expression. Never throws. */
export function parseExpression(text: string): Tree | Mistake {
  const positionAt = (offset: number) => positionIn(text, offset);
  if (text.trim() === '') {
    return mistake('Write an expression, such as: type == "track"', positionAt(0));
  }
  if (text.length > MAX_TEXT_LENGTH) {
    return mistake(
      `The expression is longer than ${MAX_TEXT_LENGTH} characters. Shorten or split it.`,
      positionAt(MAX_TEXT_LENGTH),
    );
  }
  const deep = tooDeep(text);
  if (deep !== undefined) return mistake(NESTED, positionAt(deep));
  try {
    const parsed = parse(text);
    const positions: Record<string, number> = parsed.sourceInfo?.positions ?? {};
    // The position of an operator is at the space before it.
    const positionOf = ({ id }: { id: bigint }) => {
      const offset = positions[String(id)] ?? 0;
      return positionAt(offset + (/^\s*/.exec(text.slice(offset))?.[0].length ?? 0));
    };
    return (
      tooLarge(parsed.expr, positionOf) ?? {
        kind: 'tree',
        text,
        expr: parsed.expr,
        positionOf,
      }
    );
  } catch (error) {
    return unreadable(text, error);
  }
}

export function mistake(message: string, position: TextPosition): Mistake {
  return { kind: 'mistake', message, position };
}

/** Formats a mistake with its position, for a line of an error. */
export function mistakeText({ message, position }: Mistake): string {
  return `line ${position.line}, column ${position.column}: ${message}`;
}

/** Returns the direct parts of an expression. */
export function partsOf({ exprKind: kind }: Expr): Expr[] {
  switch (kind.case) {
    case 'selectExpr':
      return present([kind.value.operand]);
    case 'callExpr':
      return present([kind.value.target, ...kind.value.args]);
    case 'listExpr':
      return kind.value.elements;
    case 'structExpr':
      return present(
        kind.value.entries.flatMap((entry) => [
          entry.keyKind.case === 'mapKey' ? entry.keyKind.value : undefined,
          entry.value,
        ]),
      );
    case 'comprehensionExpr': {
      const { iterRange, accuInit, loopCondition, loopStep, result } = kind.value;
      return present([iterRange, accuInit, loopCondition, loopStep, result]);
    }
    case 'constExpr':
    case 'identExpr':
    case undefined:
      return [];
  }
}

/** Returns whether it is a number, a text, `true`, `false` or `null`. */
export function isLiteral({ exprKind: kind }: Expr): boolean {
  return kind.case === 'constExpr';
}

/** Returns the text of a string literal; undefined for anything else. */
export function textOf(expr: Expr | undefined): string | undefined {
  const kind = expr?.exprKind;
  if (kind?.case !== 'constExpr' || kind.value.constantKind.case !== 'stringValue') {
    return undefined;
  }
  return kind.value.constantKind.value;
}

const OPERATORS = new Map([
  ['_&&_', '&&'],
  ['_||_', '||'],
  ['_?_:_', '? :'],
  ['@in', 'in'],
  ['_[_]', '[]'],
  ['!_', '!'],
  ['-_', '-'],
]);

/** Returns how an operator is written, from the name of its function. */
export function operatorOf(name: string): string | undefined {
  return OPERATORS.get(name) ?? /^_(\W+)_$/.exec(name)?.[1];
}

/** Returns the number of parts, the expression itself included. */
export function sizeOf(expr: Expr): number {
  return partsOf(expr).reduce((size, part) => size + sizeOf(part), 1);
}

function present(parts: (Expr | undefined)[]): Expr[] {
  return parts.filter((part) => part !== undefined);
}

const NESTED = `The expression is nested more than ${MAX_DEPTH} levels deep. Flatten it.`;

/** Texts and comments, whose brackets do not count, and brackets. */
const BRACKETS = new RegExp(
  [
    String.raw`(?:[bB]?[rR]|[rR][bB])(?:""".*?"""|'''.*?'''|"[^"]*"|'[^']*')`,
    String.raw`"""(?:\\.|[^\\])*?"""|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'`,
    String.raw`//[^\r\n]*`,
    String.raw`[()[\]{}]`,
  ].join('|'),
  'gs',
);

/** Returns the offset of the bracket that is nested too deeply; undefined if none is. */
function tooDeep(text: string): number | undefined {
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(BRACKETS)) {
    if ('([{'.includes(token)) depth++;
    else if (')]}'.includes(token)) depth--;
    if (depth > MAX_DEPTH) return index;
  }
  return undefined;
}

function tooLarge(expr: Expr, positionOf: Tree['positionOf']): Mistake | undefined {
  let nodes = 0;
  const walk = (part: Expr, depth: number): Mistake | undefined => {
    if (++nodes > MAX_NODES) {
      return mistake(
        `The expression has more than ${MAX_NODES} parts. Shorten it.`,
        positionOf(part),
      );
    }
    if (depth > MAX_DEPTH) {
      return mistake(NESTED, positionOf(part));
    }
    for (const inner of partsOf(part)) {
      const found = walk(inner, depth + 1);
      if (found) return found;
    }
    return undefined;
  };
  return walk(expr, 1);
}

/** Hints for syntax of other languages. */
const INSTEAD: readonly (readonly [RegExp, string])[] = [
  [/^=/, 'To compare, write =='],
  [/^(&&|\|\|)/, 'Another operator already precedes it'],
  [/^(and\b|&)/i, 'For "and", write &&'],
  [/^(or\b|\|)/i, 'For "or", write ||'],
  [/^not\b/i, 'For "not", write !'],
  [/^<>/, 'For "is not", write !='],
  [/^\?/, 'Write a choice as: condition ? one : other'],
  [/^["']/, 'End text with the quote it began with; write a quote inside as \\"'],
];

function unreadable(text: string, error: unknown): Mistake {
  if (error instanceof RangeError) {
    return mistake('The expression is nested too deeply. Flatten it.', positionIn(text, 0));
  }
  const offset = offsetOf(error);
  if (offset === undefined) {
    return mistake(
      `The expression cannot be parsed: ${(error as Error).message}.`,
      positionIn(text, 0),
    );
  }
  // If an operator has nothing to its right, the parser points at the operator.
  const operator = OPERATOR.exec(text.slice(offset))?.[0] ?? '';
  const position = positionIn(text, offset + operator.length);
  const rest = text.slice(position.offset);
  if (rest === '') {
    return mistake(
      'The expression ends too early: a part is ' +
        `missing${operator === '' ? '' : ` after ${operator.trim()}`}.`,
      position,
    );
  }
  const hint = INSTEAD.find(([pattern]) => pattern.test(rest))?.[1];
  const found = /^(\w+|&&|\|\||[<>=!]=|.)/su.exec(rest)?.[0] ?? rest.charAt(0);
  return mistake(
    `${JSON.stringify(found)} is unexpected here.${hint === undefined ? '' : ` ${hint}.`}`,
    position,
  );
}

const OPERATOR = /^\s*(&&|\|\||==|!=|<=|>=|in\b|[<>+\-*/%])(?!=)\s*/;

function offsetOf(error: unknown): number | undefined {
  const { location } = error as { location?: { start?: { offset?: unknown } } };
  const offset = location?.start?.offset;
  return typeof offset === 'number' ? offset : undefined;
}

function positionIn(text: string, offset: number): TextPosition {
  const before = text.slice(0, offset).split('\n');
  return { offset, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
