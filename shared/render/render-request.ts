import { compileBody, compileHeader, type RenderedText, type Template } from '../cel/template';
import { type Failure } from '../cel/evaluation-error';
import { messageVariables, type Variables } from '../cel/json-values';
import { Kept } from '../cel/kept';
import { type Mistake } from '../cel/syntax';
import { BUDGET, MessageBudget, spent } from '../cel/work-limit';
import { CLOUDEVENTS_TYPE, formatBody, type Formatted } from '../model/formats/format-body';
import { type Destination } from '../model/config';
import { type Delivery } from '../model/delivery';
import { type Message } from '../model/message';
import { CONTENT_TYPE, USUAL_CONTENT_TYPE, valueProblem } from '../model/webhook-request';

/**
 * Renders the request of a destination for a message: its body, content type and headers
 * (docs/guide/bodies.md). Never throws, and has a limit of work for each message, as filters have.
 */

/** Limit of a rendered body. A message has at most 32 KB. */
const MAX_BODY_BYTES = 512 * 1024;
const TEXT_TYPE = 'text/plain; charset=utf-8';

type RenderedHead = Pick<Delivery, 'method' | 'contentType' | 'headers'>;

export interface Rendered {
  kind: 'rendered';
  body: Buffer;
  /** the differences from the default POST, as a delivery carries them */
  head: RenderedHead;
}

export interface RenderFailure {
  kind: 'failed';
  /** `body`, `format`, or `headers/<name>`, within `request` */
  field: string;
  /** quotes no value of the message */
  message: string;
}

/** Returns the failure as one line, for a dead letter. */
export function failureText({ field, message }: RenderFailure): string {
  return `request/${field}: ${message}`;
}

type Target = Pick<Destination, 'request'>;

/** Compiles expressions, or finds them compiled. */
interface Compiler {
  body(text: string): Template<RenderedText> | Mistake;
  header(text: string): Template<string> | Mistake;
}

const COMPILER: Compiler = { body: compileBody, header: compileHeader };

/** The request of a destination, compiled. */
interface Templates {
  body: Template<RenderedText> | Mistake | undefined;
  headers: (readonly [name: string, template: Template<string> | Mistake])[];
  /** the memory that they take */
  bytes: number;
}

function compileTemplates({ request }: Target, compiler: Compiler): Templates {
  const { body: text, headers: texts = {} } = request ?? {};
  const body = text === undefined ? undefined : compiler.body(text);
  const headers = Object.entries(texts).map(
    ([name, text]) => [name, compiler.header(text)] as const,
  );
  const all = [body, ...headers.map(([, header]) => header)];
  const bytes = all.map((each) => (each && 'bytes' in each ? each.bytes : 0));
  return { body, headers, bytes: bytes.reduce((sum, each) => sum + each, 0) };
}

const kept = new Kept<Target, Templates>((target) => compileTemplates(target, COMPILER));

/**
 * Returns the content type of every body that a destination renders.
 * @returns undefined: JSON; null: the message decides
 */
export function contentTypeBy(destination: Target): string | null | undefined {
  const { body } = kept.of(destination);
  if (!body) return destination.request?.format === 'cloudevents' ? CLOUDEVENTS_TYPE : undefined;
  if (body.kind === 'mistake' || body.yields === undefined) return null;
  return body.yields === 'text' ? TEXT_TYPE : undefined;
}

export type Renderer = (destination: Target) => Rendered | RenderFailure;

/**
 * Returns a function that renders one message for destinations.
 * @param mostDestinations how many may be rendered for; they share the work limit of one message
 */
export function rendererOf(message: Message, sourceId: string, mostDestinations = 1): Renderer {
  return renderer({ message, sourceId, mostDestinations }, kept);
}

/**
 * Renders one message for one destination. For a process that renders now and then.
 * @param compiler of its expressions, within limits of its own
 */
export function renderOnce(
  message: Message,
  sourceId: string,
  destination: Target,
  compiler?: Compiler,
): Rendered | RenderFailure {
  const templates = {
    of: (target: Target) => (compiler ? compileTemplates(target, compiler) : kept.of(target)),
    priceOf: () => 0,
  };
  return renderer({ message, sourceId, mostDestinations: 1 }, templates)(destination);
}

function renderer(
  {
    message,
    sourceId,
    mostDestinations,
  }: { message: Message; sourceId: string; mostDestinations: number },
  templates: Pick<typeof kept, 'of' | 'priceOf'>,
): Renderer {
  let variables: Variables | undefined;
  const budget = new MessageBudget(mostDestinations);
  return (destination) => {
    const units = budget.next();
    const price = templates.priceOf(destination);
    if (price > units) {
      return { kind: 'failed', field: expressionOf(destination), message: kept.refuse() };
    }
    variables ??= messageVariables(message);
    const rendering = new Rendering(variables, units - price);
    try {
      return rendering.request(destination, templates.of(destination), { message, sourceId });
    } catch (error) {
      if (error instanceof Failed) {
        return { kind: 'failed', field: error.field, message: error.message };
      }
      return { kind: 'failed', field: 'format', message: 'it cannot be rendered' };
    } finally {
      budget.take(price + rendering.spent);
    }
  };
}

/** Returns the field of an expression: the body, or the first header. */
function expressionOf({ request }: Target): string {
  const [header] = Object.keys(request?.headers ?? {});
  return request?.body === undefined && header !== undefined ? `headers/${header}` : 'body';
}

/** Carries a failure out of the rendering. */
class Failed extends Error {
  constructor(
    readonly field: string,
    message: string,
  ) {
    super(message);
  }
}

class Rendering {
  spent = 0;

  constructor(
    private readonly variables: Variables,
    private readonly units: number,
  ) {}

  /** @throws Failed */
  request(
    { request }: Target,
    { body: template, headers: templates }: Templates,
    { message, sourceId }: { message: Message; sourceId: string },
  ): Rendered {
    const { method, format = 'default' } = request ?? {};
    const formatted = template ? this.#body(template) : formatBody(format, message, sourceId);
    const body = Buffer.from(formatted.body);
    if (body.length > MAX_BODY_BYTES) {
      throw new Failed(
        template ? 'body' : 'format',
        `the body is larger than ${MAX_BODY_BYTES / 1_024} KB`,
      );
    }
    let { contentType } = formatted;
    const headers = formatted.headers ?? [];
    for (const [name, header] of templates) {
      const value = this.#header(name, header);
      if (name.toLowerCase() === CONTENT_TYPE) contentType = value;
      else headers.push(name, value);
    }
    const head: RenderedHead = {};
    if (method !== undefined && method !== 'POST') head.method = method;
    if (contentType !== undefined && contentType !== USUAL_CONTENT_TYPE) {
      head.contentType = contentType;
    }
    if (headers.length > 0) head.headers = headers;
    return { kind: 'rendered', body, head };
  }

  #body(template: Template<RenderedText> | Mistake): Formatted {
    const { kind, text } = this.#run('body', template);
    return kind === 'text' ? { body: text, contentType: TEXT_TYPE } : { body: text };
  }

  #header(name: string, template: Template<string> | Mistake): string {
    const field = `headers/${name}`;
    const value = this.#run(field, template);
    const problem = valueProblem(value);
    if (problem !== undefined) throw new Failed(field, `it ${problem}`);
    return value;
  }

  #run<T extends string | RenderedText>(field: string, template: Template<T> | Mistake): T {
    // It was valid when it was set, under the rules of another version.
    if (template.kind === 'mistake') throw new Failed(field, template.message);
    const result = template.render(this.variables, Math.min(BUDGET, this.units - this.spent));
    this.spent += spent();
    if (isFailure(result)) throw new Failed(field, result.message);
    return result;
  }
}

function isFailure(result: string | RenderedText | Failure): result is Failure {
  return typeof result === 'object' && 'code' in result;
}
