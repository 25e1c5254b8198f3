import { compileExpression, type Expression } from '../../../shared/cel/compile';
import { type Mistake, mistakeText } from '../../../shared/cel/syntax';
import {
  compileBody,
  compileHeader,
  type RenderedText,
  type Template,
} from '../../../shared/cel/template';
import { MAX_HEADERS } from '../../../shared/model/webhook-request';
import { type Actor } from '../http/identity';
import { errorAt, type FieldError } from '../http/problem';
import { fieldsOf } from '../http/validate';
import { cpuMs } from '../../../shared/runtime/cpu-clock';
import { type ExpressionWork, RequestWork } from './work';

/** Compiles the expressions of one request, each text once, within the request's budget. */
export class RequestExpressions {
  readonly #filters = new Map<string, Expression | Mistake>();
  readonly #conditions = new Map<string, Expression | Mistake>();
  readonly #bodies = new Map<string, Template<RenderedText> | Mistake>();
  readonly #headers = new Map<string, Template<string> | Mistake>();

  constructor(private readonly work: RequestWork) {}

  /** @throws Problem `too_much_work`, as the others do */
  filter(text: string): Expression | Mistake {
    return this.#once(this.#filters, text, () => compileExpression(text, 'filter'));
  }

  condition(text: string): Expression | Mistake {
    return this.#once(this.#conditions, text, () => compileExpression(text, 'audience'));
  }

  body(text: string): Template<RenderedText> | Mistake {
    return this.#once(this.#bodies, text, () => compileBody(text));
  }

  header(text: string): Template<string> | Mistake {
    return this.#once(this.#headers, text, () => compileHeader(text));
  }

  #once<T extends { bytes: number } | Mistake>(
    known: Map<string, T>,
    text: string,
    compile: () => T,
  ): T {
    let compiled = known.get(text);
    if (!compiled) {
      compiled = this.work.run(compile);
      known.set(text, compiled);
      if ('bytes' in compiled) this.work.hold(compiled.bytes);
    }
    return compiled;
  }
}

/**
 * Compiles the expressions of bodies in pieces, in the turn of the actor's token. Without any there
 * is no turn to wait for. What is asked for later is compiled then, within the same budget.
 * @param bodies a body as it was sent, and the stored entry that it changes
 * @throws Problem `rate_limited`, `too_much_work`
 */
export async function compileInTurn(
  { work }: { work: Pick<ExpressionWork, 'inTurn'> },
  { id }: Pick<Actor, 'id'>,
  bodies: readonly unknown[],
): Promise<RequestExpressions> {
  if (bodies.every((body) => expressionsIn(body).length === 0)) {
    return new RequestExpressions(new RequestWork(cpuMs));
  }
  return work.inTurn(id, async (budget) => {
    const expressions = new RequestExpressions(budget);
    for (const body of bodies) await compileAll(expressions, budget, body);
    return expressions;
  });
}

/** Compiles the expressions of a body, which a later check then finds compiled. */
export async function compileAll(
  expressions: RequestExpressions,
  work: RequestWork,
  body: unknown,
): Promise<void> {
  for (const { compile } of expressionsIn(body)) {
    compile(expressions);
    await work.pause();
  }
}

/**
 * Returns the errors of the expressions in a body, which its schema does not find.
 * @param before path to the body in the request
 */
export function expressionErrors(
  body: unknown,
  expressions: RequestExpressions,
  before: readonly string[] = [],
): FieldError[] {
  return expressionsIn(body).flatMap(({ path, compile }) => {
    const compiled = compile(expressions);
    if (compiled.kind !== 'mistake') return [];
    return [errorAt([...before, ...path], mistakeText(compiled))];
  });
}

interface Written {
  path: string[];
  compile: (expressions: RequestExpressions) => Expression | Template<unknown> | Mistake;
}

/**
 * Returns the expressions that a body names. A body with too many headers is refused by its schema,
 * so none of them is compiled.
 */
function expressionsIn(body: unknown): Written[] {
  const { condition, filter, request } = fieldsOf(body);
  const { body: template, headers } = fieldsOf(request);
  const values = Object.entries(fieldsOf(headers));
  const found: Written[] = [];
  if (typeof condition === 'string') {
    found.push({ path: ['condition'], compile: (each) => each.condition(condition) });
  }
  if (typeof filter === 'string') {
    found.push({ path: ['filter'], compile: (each) => each.filter(filter) });
  }
  if (typeof template === 'string') {
    found.push({ path: ['request', 'body'], compile: (each) => each.body(template) });
  }
  for (const [name, text] of values.length > MAX_HEADERS ? [] : values) {
    if (typeof text !== 'string') continue;
    found.push({ path: ['request', 'headers', name], compile: (each) => each.header(text) });
  }
  return found;
}
