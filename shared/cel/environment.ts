import {
  celEnv,
  type CelEnv,
  type CelFunc,
  celFunc,
  CelScalar,
  type CelType,
  mapType,
  objectType,
} from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import { boundedJoin, charge, charged } from './work-limit';
import { counterByIndex, counterFunctions } from './aggregate-functions';
import { patternInUse } from './patterns';
import { textFunctions } from './text-functions';

/**
 * The names that an expression may use: fields of a message (`filter`), these and the whole message
 * (`request`), or fields of a user (`audience`).
 */
export type EnvironmentName = 'filter' | 'request' | 'audience';

export interface Environment {
  variables: ReadonlyMap<string, CelType>;
  functions: ReadonlyMap<string, readonly CelFunc[]>;
  /** charges each step and each call (`work-limit.ts`) */
  charged: CelEnv;
}

/** Wraps a loop's condition with the cost of a step. */
export const STEP = '@step';

const { BOOL, DOUBLE, DYN, STRING } = CelScalar;
const OBJECT = mapType(STRING, DYN);
const TIMESTAMP = objectType(TimestampSchema);

/**
 * Functions of the extension whose result never exceeds their input. `replace` and `join` could
 * grow without bound.
 */
const EXTENSION = new Set(['lowerAscii', 'upperAscii', 'trim']);

const FIELDS: Record<string, CelType> = {
  type: STRING,
  event: STRING,
  userId: STRING,
  anonymousId: STRING,
  groupId: STRING,
  previousId: STRING,
  messageId: STRING,
  name: STRING,
  category: STRING,
  properties: OBJECT,
  traits: OBJECT,
  context: OBJECT,
  integrations: OBJECT,
  timestamp: TIMESTAMP,
  receivedAt: TIMESTAMP,
};
const VARIABLES: Record<EnvironmentName, Record<string, CelType>> = {
  filter: FIELDS,
  request: { ...FIELDS, message: OBJECT },
  audience: { user: OBJECT },
};
/** Functions beside the standard ones and the text functions. */
const OWN_FUNCTIONS: Record<EnvironmentName, readonly CelFunc[]> = {
  filter: [],
  request: boundedJoin,
  audience: [...counterFunctions, counterByIndex],
};

const made = new Map<EnvironmentName, Environment>();

/** Created on first use, since most processes never evaluate an expression. */
export function environmentOf(name: EnvironmentName): Environment {
  let environment = made.get(name);
  if (!environment) made.set(name, (environment = makeEnvironment(name)));
  return environment;
}

function makeEnvironment(name: EnvironmentName): Environment {
  const variables = VARIABLES[name];
  const funcs = [
    ...strings.filter((func) => EXTENSION.has(func.name)),
    ...textFunctions,
    ...OWN_FUNCTIONS[name],
  ];
  const plain = celEnv({ variables, funcs, re2: { compile: patternInUse } });
  const step = celFunc(STEP, [BOOL, DOUBLE], BOOL, (goesOn, units) => {
    charge(units);
    return goesOn;
  });
  const functions = new Map<string, CelFunc[]>();
  for (const func of plain.funcs) {
    functions.set(func.name, [...(functions.get(func.name) ?? []), func]);
  }
  return {
    variables: new Map(Object.entries(variables)),
    functions,
    charged: celEnv({ variables, funcs: [...charged(plain.funcs), step] }),
  };
}
