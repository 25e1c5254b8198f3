import { createRequire } from 'node:module';
import { RE2JS } from '@bufbuild/re2';
import { charge } from './work-limit';

/**
 * The patterns of `matches`, compiled with RE2, which does not backtrack: at worst, the time is the
 * text's length times the pattern's size. A pattern is a literal in the expression, so it is
 * compiled with the expression, and never for a message. Its size is known before it is compiled.
 */

const MAX_PATTERN_LENGTH = 500;
/** Counted repetitions multiply: `(a{100}){10}` is a thousand. */
const MAX_INSTRUCTIONS = 1_000;
/** Of all patterns of an expression: 30 ms to compile them. */
const MAX_INSTRUCTIONS_TOGETHER = 3_000;
/** Of all patterns of an expression: each class takes the parser up to 4 ms at first. */
const MAX_UNICODE_CLASSES = 20;
/**
 * Of all patterns of an expression: without regard to case the parser looks at every character of a
 * range, which takes 25 ms for these.
 */
const MAX_FOLDED_CHARACTERS = 100_000;
/** Instructions times characters for one unit of work (65 ns each, at worst). */
const STEPS_PER_UNIT = 50;

/** A node of the library's parse tree. */
interface PatternTree {
  op: number;
  subs: PatternTree[];
  /** characters of a text, or ranges of a class */
  runes: number[];
  /** of a counted repetition; `max` -1: no limit */
  min: number;
  max: number;
}

interface Library {
  Parser: { parse(pattern: string, flags: number): PatternTree };
  Regexp: { Op: Record<'LITERAL' | 'CAPTURE' | 'STAR' | 'REPEAT' | 'ALTERNATE', number> };
  PERL: number;
}

/**
 * The package does not export its parser, so this loads the files beside its entry. The version is
 * exact, and a test compares the counts with compiled patterns.
 */
const load = createRequire(createRequire(__filename).resolve('@bufbuild/re2'));
const { Parser } = load('./Parser.js') as Pick<Library, 'Parser'>;
const { Op } = (load('./Regexp.js') as Pick<Library, 'Regexp'>).Regexp;
const { PERL } = load('./RE2Flags.js') as Pick<Library, 'PERL'>;

/** Returns at least the number of instructions that a pattern compiles to, without compiling it. */
export function instructionsOf(pattern: string): number {
  // The program begins with a failure and ends with a match.
  return 2 + instructionsIn(Parser.parse(pattern, PERL));
}

function instructionsIn({ op, subs, runes, min, max }: PatternTree): number {
  const inside = subs.reduce((sum, sub) => sum + instructionsIn(sub), 0);
  switch (op) {
    case Op.LITERAL:
      return Math.max(1, runes.length);
    case Op.CAPTURE:
    case Op.STAR:
      return inside + 2;
    case Op.ALTERNATE:
      return inside + subs.length;
    case Op.REPEAT: {
      const times = Math.max(1, min, max);
      return times * inside + (max === -1 ? 2 : max - min);
    }
    default:
      return inside + 1;
  }
}

/** A compiled pattern. */
export interface Pattern {
  test(text: string): boolean;
}

/**
 * Why a pattern was refused, by its text. A refused text comes again with each attempt to save it,
 * and with each keystroke after it.
 */
const refused = new Map<string, string>();
/** Half a MB of texts. Beyond it all are forgotten, and found again on demand. */
const MAX_REFUSED = 500;

/**
 * Returns the size of a pattern.
 * @throws Error that explains the problem of the pattern
 */
function sizeOf(text: string): number {
  if (text.length > MAX_PATTERN_LENGTH) {
    throw new Error(`the pattern is longer than ${MAX_PATTERN_LENGTH} characters`);
  }
  const known = refused.get(text);
  if (known !== undefined) throw new Error(known);
  try {
    const size = instructionsOf(text);
    if (size > MAX_INSTRUCTIONS) {
      throw new Error('the pattern is too large: use smaller counts in {}');
    }
    return size;
  } catch (error) {
    if (refused.size >= MAX_REFUSED) refused.clear();
    refused.set(text, (error as Error).message);
    throw error;
  }
}

const UNICODE_CLASS = /\\p/gi;
/** A group whose flags may include `i`. */
const IGNORES_CASE = /\(\?[a-z]*i/i;
/** What may be a range. Each place of the text counts, so that none is missed. */
const RANGE = /(?=(?:\\x\{([0-9a-f]+)\}|(.))-(?:\\x\{([0-9a-f]+)\}|(.)))/gisu;

/** Returns at least the number of characters that the parser looks at one by one. */
function foldedCharacters(text: string): number {
  if (!IGNORES_CASE.test(text)) return 0;
  const codeOf = (hex: string | undefined, plain: string | undefined) =>
    hex === undefined ? (plain?.codePointAt(0) ?? 0) : Number.parseInt(hex, 16);
  return Array.from(text.matchAll(RANGE)).reduce(
    (sum, [, lowHex, low, highHex, high]) =>
      sum + Math.max(0, codeOf(highHex, high) - codeOf(lowHex, low)),
    0,
  );
}

type Automaton = ReturnType<RE2JS['re2']>['dfa'];

/**
 * Limit of the automata of one expression. An ordinary pattern has 10 to 50 states, and 300 fit. A
 * pattern that makes more begins anew after each text: it costs time, which is charged, and no
 * memory.
 */
const MAX_AUTOMATA_BYTES = 512 * 1024;
/**
 * Limit of the automata of all expressions of a process: a router keeps the filters of all
 * destinations, and each of them could have its most. Those of 1,000 ordinary patterns fit. Beyond
 * it the largest ones end, and their patterns go on without: slower, but at a steady pace. Making
 * them anew with each message would take far longer.
 */
const MAX_AUTOMATA_BYTES_TOGETHER = 64 * 1024 * 1024;
/** A state has a slot for each ASCII character, and a map for the others. */
const STATE_BYTES = 1_700;
const TRANSITION_BYTES = 64;
const INSTRUCTION_BYTES = 200;
const UNICODE_CLASS_BYTES = 16 * 1024;

/**
 * What all automata have taken since they last began anew. Those of expressions that are gone still
 * count, until the limit is reached.
 */
let takenTogether = 0;
/** Whose automata have had states. A weak reference lets them go with their expression. */
let holders: WeakRef<Patterns>[] = [];

/**
 * The patterns of one expression. They go with it, so that tried and refused expressions leave
 * nothing behind.
 *
 * The first evaluation makes no automata. An expression that is compiled for one message has no
 * use for them, and thousands of such would end those of expressions that are kept.
 */
export class Patterns {
  readonly #compiled = new Map<string, Pattern>();
  readonly #automata: Automaton[] = [];
  #evaluations = 0;
  /** what the automata take, in bytes */
  #taken = 0;
  #isHolder = false;
  #instructions = 0;
  #unicodeClasses = 0;
  #foldedCharacters = 0;

  get size(): number {
    return this.#compiled.size;
  }

  /** What they take without their automata. */
  get bytes(): number {
    return this.#instructions * INSTRUCTION_BYTES + this.#unicodeClasses * UNICODE_CLASS_BYTES;
  }

  /** @throws Error that explains the problem of the pattern */
  add(text: string): void {
    if (this.#compiled.has(text)) return;
    this.#admit(text);
    const regex = RE2JS.compile(text);
    const { dfa, prog } = regex.re2();
    this.#limit(dfa);
    this.#automata.push(dfa);
    const steps = prog.numInst() / STEPS_PER_UNIT;
    this.#compiled.set(text, {
      test: (value) => {
        charge(steps * value.length);
        const matches = regex.test(value);
        if (takenTogether > MAX_AUTOMATA_BYTES_TOGETHER) Patterns.#endLargest();
        else if (this.#taken > MAX_AUTOMATA_BYTES) this.#beginAnew();
        return matches;
      },
    });
  }

  /** @throws Error before the parser or the compiler would take long */
  #admit(text: string): void {
    this.#unicodeClasses += text.match(UNICODE_CLASS)?.length ?? 0;
    if (this.#unicodeClasses > MAX_UNICODE_CLASSES) {
      throw new Error(
        `the patterns of an expression have at most ${MAX_UNICODE_CLASSES} classes such as \\pL`,
      );
    }
    this.#foldedCharacters += foldedCharacters(text);
    if (this.#foldedCharacters > MAX_FOLDED_CHARACTERS) {
      throw new Error(
        `the ranges of patterns with (?i) have at most ${MAX_FOLDED_CHARACTERS} characters`,
      );
    }
    this.#instructions += sizeOf(text);
    if (this.#instructions > MAX_INSTRUCTIONS_TOGETHER) {
      throw new Error('the patterns of the expression are too large together');
    }
  }

  get(text: string): Pattern | undefined {
    return this.#compiled.get(text);
  }

  beginEvaluation(): void {
    this.#evaluations++;
  }

  /** Counts what an automaton takes. Without a next state the library continues without it. */
  #limit(automaton: Automaton): void {
    const find = automaton.getState.bind(automaton);
    automaton.getState = (instructions) => {
      if (this.#evaluations < 2 || this.#taken > MAX_AUTOMATA_BYTES) return null;
      const before = automaton.stateCount;
      const state = find(instructions);
      const isNew = state !== null && automaton.stateCount > before;
      this.#take(TRANSITION_BYTES + (isNew ? STATE_BYTES + 4 * state.nfaStates.length : 0));
      return state;
    };
  }

  #take(bytes: number): void {
    if (!this.#isHolder) holders.push(new WeakRef(this));
    this.#isHolder = true;
    this.#taken += bytes;
    takenTogether += bytes;
  }

  /** Makes room: the automata that take most end, and the others stay. */
  static #endLargest(): void {
    const alive = holders.flatMap((holder) => holder.deref() ?? []);
    takenTogether = alive.reduce((sum, patterns) => sum + patterns.#taken, 0);
    alive.sort((a, b) => b.#taken - a.#taken);
    let ended = 0;
    for (const patterns of alive) {
      if (takenTogether <= MAX_AUTOMATA_BYTES_TOGETHER / 2) break;
      patterns.#end();
      ended++;
    }
    holders = alive.slice(ended).map((patterns) => new WeakRef(patterns));
  }

  #beginAnew(): void {
    for (const automaton of this.#automata) {
      automaton.stateCache.clear();
      automaton.stateCount = 0;
      automaton.startState = null;
    }
    takenTogether -= this.#taken;
    this.#taken = 0;
  }

  /** From here on the library reads texts without automata. */
  #end(): void {
    this.#beginAnew();
    for (const automaton of this.#automata) automaton.match = () => null;
  }
}

/** The patterns of the running evaluation. Evaluations neither overlap nor nest. */
let inUse: Patterns | undefined;

/** Sets the patterns that the next evaluation uses. */
export function usePatterns(patterns: Patterns): void {
  patterns.beginEvaluation();
  inUse = patterns;
}

/** Returns a pattern of the running evaluation. */
export function patternInUse(text: string): Pattern {
  const pattern = inUse?.get(text);
  if (!pattern) throw new Error('a pattern is compiled with its expression');
  return pattern;
}
