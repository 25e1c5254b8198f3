import { type CelType, celType, type CelValue, isCelList, isCelMap } from '@bufbuild/cel';
import { compileTo } from './compile';
import { type Failure, UnusableResult } from './evaluation-error';
import { exactDoublesOf, type Variables } from './json-values';
import { type Mistake } from './syntax';
import { jsonText } from './to-json';
import { nameOf } from './type-check';

/**
 * Compiles the templates of a request: a body, which is JSON or text, and the values of headers,
 * which are text. Like filters they never throw and have a limit of work.
 */

/** A rendered body. */
export interface RenderedText {
  /** `text`: the expression yields text, which is sent as it is */
  kind: 'json' | 'text';
  text: string;
}

export interface Template<T> {
  kind: 'template';
  /** kind of every result; undefined if the message decides */
  yields: 'map' | 'list' | 'text' | undefined;
  /** the memory that it takes, beside the automata of its patterns */
  bytes: number;
  /** @param units limit of its work (`work-limit.ts`) */
  render: (variables: Variables, units?: number) => T | Failure;
}

/** Compiles a body: a map or a list becomes JSON, text stays text. */
export function compileBody(text: string): Template<RenderedText> | Mistake {
  return compileTemplate(text, {
    types: ['map', 'list', 'string'],
    hint: 'must be a map, a list or text. Write {"total": properties.total}, for example.',
    read: (result, variables) => {
      if (typeof result === 'string') return { kind: 'text', text: result };
      if (isCelMap(result) || isCelList(result)) {
        return { kind: 'json', text: jsonText(result, exactDoublesOf(variables)) };
      }
      throw new UnusableResult(
        `the result is ${nameOf(celType(result))}, not a map, a list or text`,
      );
    },
  });
}

/** Compiles the value of a header. */
export function compileHeader(text: string): Template<string> | Mistake {
  return compileTemplate(text, {
    types: ['string'],
    hint: 'must be text. Write string(…) around it.',
    read: (result) => {
      if (typeof result === 'string') return result;
      throw new UnusableResult(
        `the result is ${nameOf(celType(result))}, not text: write string(…) around it`,
      );
    },
  });
}

function compileTemplate<T>(
  text: string,
  {
    types,
    hint,
    read,
  }: {
    types: readonly CelType['name'][];
    hint: string;
    read: (result: CelValue, variables: Variables) => T;
  },
): Template<T> | Mistake {
  const wrongType = (type: CelType) =>
    type.name === 'dyn' || types.includes(type.name)
      ? undefined
      : `The expression is ${nameOf(type)} but ${hint}`;
  const compiled = compileTo(text, 'request', {
    wrongType,
    read: (result, _, variables) => read(result, variables),
  });
  if (compiled.kind === 'mistake') return compiled;
  const { type, bytes, evaluate } = compiled;
  return {
    kind: 'template',
    yields: yieldsOf(type),
    bytes,
    render: (variables, units) => evaluate(variables, undefined, units),
  };
}

function yieldsOf({ name }: CelType): Template<unknown>['yields'] {
  if (name === 'string') return 'text';
  return name === 'map' || name === 'list' ? name : undefined;
}
