import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './json-bytes';
import { BrokenText } from './broken-text';
import { CallPieces, type FoundCall, type LostPiece } from './call-pieces';
import {
  doubt,
  type EnvelopeParts,
  hasName,
  isEnvelope,
  Item,
  type PartName,
  type Range,
} from './found-item';
import { stringEnd, unescapedKey } from './json-limits';
import { type Steps } from './steps';

/**
 * Finds the calls in the text of a batch that cannot be parsed as a whole: where each one begins
 * and ends, and what its envelope adds to it. It parses nothing, and reads the text a fixed number
 * of times, whatever the text is.
 *
 * Only an element of a `batch` array is a call. To know where these arrays are, the finder follows
 * texts and nesting from the first byte. As long as every bracket fits, it knows the level of each
 * object. Commas may be missing or too many, NULs may stand between values, and the text may end
 * anywhere.
 *
 * Where something does not fit (the start is missing, a bracket closes what was not opened, a quote
 * is missing), the level is no longer known, and the finder is *adrift*. It then learns the level
 * from the end: brackets that close what it has not seen open lead down to the root, and the last
 * two of them, `]` and `}`, close the array of calls and its envelope. Objects that turn out to
 * stand in any other array were never calls.
 *
 * Where it is not clear whether an object is a call, it is lost: a call that was lost shows in the
 * debugger, but a call that was never made would be delivered.
 */

export interface FoundCalls {
  /** in the order of the text */
  pieces: readonly (FoundCall | LostPiece)[];
  /**
   * more elements than `mostItems`: the number of those that are not among `pieces`, and where they
   * begin
   */
  beyond: { count: number; start: number };
}

/** Each costs as much as reading a hundred bytes. The rest of a text with more of them is lost. */
const MOST_FAULTS = 1_000;
/** Takes well under a millisecond to read. */
const STEP_BYTES = 4_096;
/** In a text of a call the quote would end that text, and no letter could follow. */
const BEGINS_OBJECT = /^\{\s*"[A-Za-z]/;
/** The longest spelling of a key, with every letter escaped as in `\u0062`. */
const LONGEST_KEY = 'integrations'.length * 6;
/**
 * What is left of the key of the array of calls if the text was cut off within it. Other keys end
 * so too (`match`, `search`): only the end of the text tells whether the array holds calls.
 */
const ENDS_OF_BATCH: ReadonlySet<string> = new Set(['atch', 'tch', 'ch', 'h', '']);
/** An object begins, and the quote of its first key. */
const BEFORE_FIRST_KEY = /\{[\s\0]*"$/;

/** What stands behind the array of an envelope. */
const TAIL_KEYS: ReadonlySet<string> = new Set(['context', 'integrations', 'sentAt', 'writeKey']);
const KEYS: ReadonlySet<string> = new Set([
  'type',
  'batch',
  'context',
  'integrations',
  'sentAt',
  'writeKey',
]);
/** No two keys have the same length, so the length tells which one it may be. */
const KEY_OF_LENGTH: ReadonlyMap<number, string> = new Map(
  [...KEYS].map((key) => [key.length, key]),
);

type Token = 'start' | 'open' | 'close' | 'comma' | 'colon' | 'string' | 'word';

/**
 * A part of the text through which the level can be followed, from its start or from a fault on.
 */
interface Stretch {
  start: number;
  /** the text begins here; false: the stretch began at a fault */
  isFirst: boolean;
  /** Containers that were open at the fault. The end must close them, or it is missing too. */
  owed: number;
  /** containers that were closed, but not opened, in this stretch */
  closed: number;
  /** members of the envelope to which the stretch belongs, if the fault was in its array */
  parts: EnvelopeParts | undefined;
  /** members of the object with which the text begins, if the fault was in it */
  head: EnvelopeParts | undefined;
}

/** The elements of an array that looks like `batch`: it and the object around it were closed. */
interface Candidates {
  items: readonly Item[];
  parts: EnvelopeParts;
  /** the object around the array has a type, as calls have */
  hasType: boolean;
  /** containers that were closed before the first element */
  closedBefore: number;
}

export function findCalls(text: Buffer, mostItems: number): Steps<FoundCalls> {
  return new CallFinder(new BrokenText(text), mostItems).find();
}

class CallFinder {
  readonly #bytes: Buffer;
  /**
   * The containers open now: `owners` names the envelope of a `batch` array, and the item of an
   * item's own object.
   */
  readonly #isArray: boolean[] = [];
  readonly #owners: (Item | undefined)[] = [];
  #previous: Token = 'start';
  #string: Range = [0, 0];
  /** start of a value without a key that is no object, where calls stand; -1: none */
  #oddValue = -1;
  #containers = 0;
  #keys = 0;
  /** open items, the innermost last, each with the level of its object */
  readonly #open: { item: Item; level: number; containers: number; keys: number }[] = [];

  #stretch: Stretch = {
    start: 0,
    isFirst: true,
    owed: 0,
    closed: 0,
    parts: undefined,
    head: undefined,
  };
  /**
   * An envelope began at the start of the text and was closed: the level is taken for that of the
   * root, until something follows that cannot stand there.
   */
  #atRoot = false;
  /** members of the last envelope at the root */
  #lastAtRoot: EnvelopeParts = {};
  /** At the root a bracket was closed that was not open. Only an envelope may follow. */
  #isOneTooMany = false;
  /** What came at the root fits only if the text ends with it. */
  #mustEnd = false;
  /**
   * the container around the lowest level that was seen: it was opened before this stretch, or is
   * the text itself
   */
  #ground = new Item(0);
  /** objects without a key at the lowest level */
  #groundItems: Item[] = [];
  /**
   * containers that were closed before the present level was the lowest, and before the first
   * element of its `batch`
   */
  #closedBefore = { ground: 0, batch: 0 };
  #pending: Candidates | undefined;

  readonly #pieces: CallPieces;
  #faults = 0;
  #items = 0;
  /** stands for all items beyond the limit */
  readonly #ignored = new Item(-1);
  /** the first byte that is not blank */
  readonly #begin: number;

  constructor(
    private readonly text: BrokenText,
    private readonly mostItems: number,
  ) {
    this.#bytes = text.bytes;
    this.#begin = text.skipBlanks();
    this.#pieces = new CallPieces(mostItems);
  }

  *find(): Steps<FoundCalls> {
    const text = this.#bytes;
    let at = this.#begin;
    // Otherwise the body may begin within a text of a call.
    if (!BEGINS_OBJECT.test(text.toString('latin1', at, at + 16))) at = this.#resume(at);
    while (at < text.length && this.#faults <= MOST_FAULTS) {
      at = this.#readStep(at);
      yield;
    }
    if (at < text.length) this.#endUnread(at);
    else this.#settle(text.length);
    return this.#pieces.result(text.length);
  }

  /** @returns where to read on */
  #readStep(from: number): number {
    const end = Math.min(from + STEP_BYTES, this.#bytes.length);
    let at = from;
    while (at < end && this.#faults <= MOST_FAULTS) at = this.#read(at);
    return at;
  }

  /**
   * Reads what begins at a byte. @returns where to read on; the same byte if a new stretch begins
   * there
   */
  #read(at: number): number {
    switch (this.#bytes[at] ?? 0) {
      case QUOTE: {
        const end = stringEnd(this.#bytes, at + 1);
        this.#noteValue(at);
        this.#string = [at + 1, end];
        this.#previous = 'string';
        return end + 1;
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        return this.#openContainer(at);
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        return this.#closeContainer(at);
      case COMMA:
        this.#endValue(at);
        this.#previous = 'comma';
        return at + 1;
      case COLON:
        return this.#colon(at);
      case BACKSLASH:
        return this.#quoteFault(at);
    }
    if (this.text.isBlank(at)) return at + 1;
    const end = this.text.wordEnd(at);
    if (this.text.touchesQuote(at, end, this.#previous === 'string')) return this.#quoteFault(at);
    this.#noteValue(at);
    this.#previous = 'word';
    return end;
  }

  /** The rest is not read: it may hold the `integrations` of envelopes that are open. */
  #endUnread(at: number): void {
    const rest: Range = [at, this.#bytes.length];
    const own = this.#stretch.parts;
    if (own) own.integrations ??= rest;
    for (const { parts } of this.#openObjects()) parts.integrations ??= rest;
    this.#settle(at);
    this.#pieces.lose(at);
    this.#pieces.decideNested(true);
  }

  // Values and members

  /**
   * The item whose members stand at the present level; undefined in an array, and deeper in a call.
   */
  #currentMembers(): Item | undefined {
    const level = this.#isArray.length - 1;
    if (level < 0) return this.#ground;
    return this.#isArray[level] ? undefined : this.#owners[level];
  }

  /** The envelope whose array of calls is the present level. */
  #currentArray(): Item | undefined {
    const level = this.#isArray.length - 1;
    return level >= 0 && this.#isArray[level] ? this.#owners[level] : undefined;
  }

  /** Notes the start of a text, a word or an array that stands where a call should. */
  #noteValue(at: number): void {
    // The root has no members: what was closed last was no envelope.
    if (this.#isArray.length === 0) this.#pending = undefined;
    if (this.#oddValue >= 0 || this.#previous === 'colon') return;
    if (this.#isArray.length === 0 ? this.#atRoot : this.#currentArray()) this.#oddValue = at;
  }

  /** Ends the value before a comma, a closing bracket or a further element. */
  #endValue(at: number): void {
    const members = this.#currentMembers();
    if (members?.key) {
      if (members.key !== 'batch') members.parts[members.key as PartName] = [members.valueFrom, at];
      members.key = '';
    }
    if (this.#oddValue < 0) return;
    const array = this.#currentArray();
    if (array) {
      const item = this.#newItem(this.#oddValue);
      item.end = at;
      if (item !== this.#ignored) array.batch?.push(item);
    } else if (members === this.#ground) {
      this.#pieces.lose(this.#oddValue);
    } else {
      return;
    }
    this.#oddValue = -1;
  }

  #colon(at: number): number {
    const level = this.#isArray.length - 1;
    if (level >= 0 && this.#isArray[level]) {
      // A member where an element should be: a bracket was too many or is missing.
      this.#oddValue = -1;
      return this.#startAnew(this.#previous === 'string' ? this.#string[0] - 1 : at, at);
    }
    this.#keys++;
    if (this.#currentMembers()) {
      this.#oddValue = -1;
      // Without a comma the key ends the value before it.
      this.#endValue(this.#previous === 'string' ? this.#string[0] - 1 : at);
      const key = this.#keyBefore(at);
      if (level < 0) this.#judgeMemberAtGround(key);
      this.#beginMember(key, at + 1);
    }
    this.#previous = 'colon';
    return at + 1;
  }

  #beginMember(key: string, valueFrom: number): void {
    const members = this.#currentMembers();
    if (!members) return;
    if (key === 'type') members.hasType = true;
    members.key = key === 'type' ? '' : key;
    members.valueFrom = valueFrom;
  }

  #judgeMemberAtGround(key: string): void {
    // A member behind elements: the last of them ended too early.
    doubt(this.#groundItems.at(-1));
    this.#pending = undefined;
    if (!TAIL_KEYS.has(key) && key !== 'batch') this.#ground.hasOtherKeys = true;
    if (!this.#atRoot) return;
    const hasArray = this.#ground.batch !== undefined;
    if (TAIL_KEYS.has(key)) {
      if (hasArray || this.#groundItems.length > 0) return;
      // A bracket was too many: the member is one of the last envelope.
      this.#ground = new Item(this.#ground.start, this.#lastAtRoot);
      this.#mustEnd = true;
    } else if (hasArray) {
      this.#mustEnd = true;
    } else {
      this.#denyRoot();
    }
  }

  /** The name of the member at a colon, if it is one that matters. */
  #keyBefore(colon: number): string {
    const [start, end] = this.#string;
    const hasName = this.#previous === 'string';
    const isCutOff = this.#isCutOff(hasName ? start : colon);
    const plain = hasName && !isCutOff ? this.#plainKey(start, end) : undefined;
    const name = plain ?? (hasName ? unescapedKey(this.#bytes.toString('latin1', start, end)) : '');
    if (name === 'batch' && this.#isArray.length === 0) this.#ground.isBatchKey = true;
    if (KEYS.has(name)) return name;
    return isCutOff && ENDS_OF_BATCH.has(name) ? 'batch' : '';
  }

  /**
   * Compares bytes, because making strings of all keys would be half of the cost.
   * @returns empty for a key that does not matter; undefined if the key has escapes
   */
  #plainKey(start: number, end: number): string | undefined {
    if (end - start > LONGEST_KEY) return '';
    const key = KEY_OF_LENGTH.get(end - start);
    if (key !== undefined && this.#isAt(start, key)) return key;
    for (let at = start; at < end; at++) if (this.#bytes[at] === BACKSLASH) return undefined;
    return '';
  }

  #isAt(start: number, key: string): boolean {
    for (let i = 0; i < key.length; i++) {
      if (this.#bytes[start + i] !== key.charCodeAt(i)) return false;
    }
    return true;
  }

  /** Whether what is at an offset began before the text. */
  #isCutOff(at: number): boolean {
    return this.#stretch.isFirst && at <= this.#begin && this.#isArray.length === 0;
  }

  // Containers

  #openContainer(at: number): number {
    const isArray = this.#bytes[at] === OPEN_BRACKET;
    const hasKey = this.#previous === 'colon';
    const level = this.#isArray.length - 1;
    // An object in an object needs a key: a bracket was too many or is missing.
    if (level >= 0 && !this.#isArray[level] && !hasKey) return this.#startAnew(at, at);
    const members = this.#currentMembers();
    const array = level < 0 ? this.#groundItems : this.#currentArray()?.batch;
    let owner: Item | undefined;
    if (!isArray && !hasKey && array) {
      this.#endValue(at);
      owner = this.#newItem(at);
      if (owner !== this.#ignored) array.push(owner);
    } else if (isArray && members && (members.key === 'batch' || (!hasKey && this.#isCutOff(at)))) {
      members.batch ??= [];
      owner = members;
    } else {
      this.#noteValue(at);
    }
    this.#containers++;
    this.#isArray.push(isArray);
    this.#owners.push(owner);
    const depth = this.#isArray.length;
    if (owner && !isArray) {
      this.#open.push({
        item: owner,
        level: depth,
        containers: this.#containers - 1,
        keys: this.#keys,
      });
    }
    const inner = this.#open.at(-1);
    if (inner && depth - inner.level >= inner.item.depth) {
      inner.item.depth = depth - inner.level + 1;
    }
    this.#previous = 'open';
    return at + 1;
  }

  #closeContainer(at: number): number {
    const isArray = this.#bytes[at] === CLOSE_BRACKET;
    const level = this.#isArray.length - 1;
    if (level >= 0 && this.#isArray[level] !== isArray) return this.#startAnew(at, at);
    this.#endValue(at);
    this.#previous = 'close';
    if (level < 0) {
      this.#closeGround(isArray, at);
      return at + 1;
    }
    this.#isArray.pop();
    const owner = this.#owners.pop();
    if (owner && !isArray) this.#closeItem(owner, at + 1);
    return at + 1;
  }

  #closeItem(item: Item, end: number): void {
    const opened = this.#open.pop();
    item.end = end;
    item.containers = this.#containers - (opened?.containers ?? 0);
    item.keys = this.#keys - (opened?.keys ?? 0);
    if (this.#isArray.length > 0 || item === this.#ignored) return;
    const { isFirst, closed } = this.#stretch;
    const beginsText = isFirst && closed === 0 && this.#groundItems[0] === item && item.batch;
    if (beginsText) this.#atRoot = true;
    if (!this.#atRoot) return;
    if (!this.#mustEnd && isEnvelope(item, Boolean(beginsText))) {
      this.#pieces.acceptEnvelope(item);
      this.#groundItems.pop();
      this.#lastAtRoot = item.parts;
    } else if (this.#isOneTooMany || this.#mustEnd) {
      this.#denyRoot();
    }
  }

  /**
   * The text began within a call that holds something like an envelope. What was accepted stands in
   * that call.
   */
  #denyRoot(): void {
    this.#atRoot = false;
    this.#pieces.clear();
    this.#pieces.lose(this.#stretch.start);
    this.#ground = new Item(this.#ground.start);
    this.#closedBefore = { ground: this.#stretch.closed, batch: this.#stretch.closed };
  }

  /** Closes the container around the lowest level: it lies one level lower then. */
  #closeGround(isArray: boolean, at: number): void {
    // At the root, elements behind an envelope may be those of another one whose start is missing.
    const isSuspect = this.#isOneTooMany || this.#mustEnd || this.#ground.batch !== undefined;
    if (this.#atRoot && isArray && isSuspect) this.#denyRoot();
    const { batch, parts, hasType } = this.#ground;
    this.#stretch.closed++;
    if (this.#atRoot) {
      if (!isArray && !batch) {
        this.#mustEnd ||= this.#isOneTooMany;
        this.#isOneTooMany = true;
      }
      if (!isArray && batch) this.#pieces.accept(batch, parts);
      if (isArray || batch) this.#lower(isArray ? this.#groundItems : undefined, at);
      return;
    }
    this.#pending = undefined;
    if (isArray) {
      this.#lower(this.#groundItems, at);
    } else {
      if (batch) {
        const closedBefore = this.#closedBefore.batch;
        this.#pending = { items: batch, parts, hasType, closedBefore };
      }
      this.#lower(undefined, at);
    }
  }

  /**
   * @param batch the elements of the array that was closed, to which the members that follow may
   *   belong
   */
  #lower(batch: Item[] | undefined, at: number): void {
    this.#ground = new Item(at);
    this.#ground.batch = batch;
    this.#groundItems = [];
    const { closed } = this.#stretch;
    this.#closedBefore = { ground: closed, batch: batch ? this.#closedBefore.ground : closed };
  }

  #newItem(at: number): Item {
    this.#items++;
    if (this.#items <= this.mostItems) return new Item(at);
    this.#pieces.countBeyond(at);
    return this.#ignored;
  }

  // Faults

  /**
   * Ends the stretch because a bracket or a colon does not fit, and begins another one.
   * @param from the first byte of the new one, which is read again
   */
  #startAnew(from: number, at: number): number {
    const below = this.#atRoot ? 0 : this.#stretch.owed - this.#stretch.closed;
    const owed = Math.max(0, below + this.#isArray.length);
    const head = this.#head();
    this.#doubtPrevious();
    const parts = this.#settle(at);
    this.#faults++;
    this.#stretch = { start: from, isFirst: false, owed, closed: 0, parts, head };
    this.#isArray.length = 0;
    this.#owners.length = 0;
    this.#open.length = 0;
    this.#atRoot = false;
    this.#isOneTooMany = false;
    this.#mustEnd = false;
    this.#oddValue = -1;
    this.#pending = undefined;
    this.#lower(undefined, from);
    // A text before the colon that did not fit is a key now.
    if (from < at) this.#previous = 'string';
    else if (this.#previous === 'colon') this.#previous = 'comma';
    return at;
  }

  /** The members of the object with which the text begins, if that is still open. */
  #head(): EnvelopeParts | undefined {
    const { isFirst, closed, head } = this.#stretch;
    if (!isFirst) return head;
    const first = closed === 0 ? this.#open[0]?.item : undefined;
    return first && first === this.#groundItems[0] && !first.hasType ? first.parts : undefined;
  }

  /**
   * Doubts the element that was closed just before a fault: a quote or bracket too many may have
   * closed it.
   */
  #doubtPrevious(): void {
    const opened = this.#open.at(-1);
    // The fault is at the first key of the next element.
    const isNext = opened && opened.level === this.#isArray.length && opened.keys === this.#keys;
    const level = isNext ? opened.level - 2 : this.#isArray.length - 1;
    const siblings =
      level < 0 ? this.#groundItems : this.#isArray[level] ? this.#owners[level]?.batch : undefined;
    const previous = siblings?.at(isNext ? -2 : -1);
    // Within an array even an envelope is in doubt: it may be the inner part of a broken call.
    if (level >= 0 && previous && previous.end >= 0) previous.isDoubtful = true;
    else doubt(previous);
  }

  #quoteFault(at: number): number {
    this.#startAnew(at, at);
    this.#previous = 'start';
    return this.#resume(at);
  }

  /** Reads on inside a text, or outside of one. */
  #resume(at: number): number {
    const end = this.text.endOfTextAround(at);
    if (end === undefined) return at;
    this.#string = [at, end];
    this.#previous = 'string';
    return end + 1;
  }

  // Decisions

  /**
   * Decides at the end of a stretch which of its items are calls.
   * @param at the fault, or the end of the text
   * @returns the members of the envelope in whose array the fault is
   */
  #settle(at: number): EnvelopeParts | undefined {
    if (this.#currentArray()) this.#endValue(at);
    this.#endOpenMembers(at);
    this.#shareTail();
    if (this.#isNotRoot()) this.#denyRoot();
    const isEnd = at === this.#bytes.length;
    const { isFirst, closed, parts } = this.#stretch;
    const reachesRoot = isEnd && this.#closesAll();
    this.#pieces.isAtFault = !isEnd;
    if (isEnd) this.#pieces.decideNested(reachesRoot);
    const { batch, parts: members, isBatchKey } = this.#ground;
    const [first] = this.#groundItems;
    const beginsWithEnvelope = isFirst && closed === 0 && first?.batch !== undefined;
    const holdsEnvelope =
      isFirst && closed === 0 && this.#groundItems.some((item) => isEnvelope(item, false));
    if (this.#atRoot || beginsWithEnvelope || holdsEnvelope) {
      if (batch) this.#pieces.accept(batch, members);
      this.#pieces.acceptAtRoot(this.#groundItems, beginsWithEnvelope);
      this.#loseOpenItem();
      return this.#open.findLast(({ item }) => item.batch)?.item.parts;
    }
    if (isFirst && closed === 0 && batch && isBatchKey) {
      // The text begins within `{"batch":[`.
      this.#pieces.accept(batch, members);
      this.#loseOpenItem();
      return members;
    }
    if (reachesRoot) this.#acceptFromRoot();
    else if (isEnd && this.#endsWithWholeEnvelopes()) this.#acceptWholeEnvelopes();
    else this.#loseStretch();
    return parts;
  }

  /** The end of the text tells the level. */
  #acceptFromRoot(): void {
    const [first] = this.#groundItems;
    const isFollowedByCall = first !== undefined && !isEnvelope(first, false);
    if (this.#pending && !isFollowedByCall) {
      this.#acceptPending(this.#pending);
      this.#pieces.acceptAtRoot(this.#groundItems, false);
    } else if (this.#stretch.isFirst) {
      this.#acceptCutAtBothEnds();
    } else if (first && !isFollowedByCall) {
      this.#pieces.acceptAtRoot(this.#groundItems, false);
    } else {
      this.#loseStretch();
    }
  }

  #acceptWholeEnvelopes(): void {
    if (this.#pending) this.#pieces.accept(this.#pending.items, this.#pending.parts, false);
    this.#pieces.acceptAtRoot(this.#groundItems, false);
  }

  /** Loses the stretch, if it holds anything that may be a call. */
  #loseStretch(): void {
    const { isFirst, start } = this.#stretch;
    const holdsItems = this.#groundItems.length > 0 || this.#ground.batch || this.#pending;
    if (isFirst || holdsItems || this.#open.length > 0) this.#pieces.lose(start);
  }

  /**
   * The text breaks off within members: what they say is not known, which is more than that they
   * are absent.
   */
  #endOpenMembers(at: number): void {
    for (const item of this.#openObjects()) {
      if (!item.key || item.key === 'batch') continue;
      // A number may have lost its last digits.
      const isNumber = item.key === 'sentAt' && this.#previous === 'word';
      item.parts[item.key as PartName] = [item.valueFrom, isNumber ? item.valueFrom : at];
    }
  }

  /** Members behind the array in which a fault was hold for the calls before that fault too. */
  #shareTail(): void {
    const { parts, closed, owed } = this.#stretch;
    const isTail = this.#ground.batch !== undefined && closed === owed - 1;
    if (parts && isTail) Object.assign(parts, this.#ground.parts);
  }

  /** Those that may be envelopes. */
  #openObjects(): Item[] {
    return [this.#ground, ...this.#open.map(({ item }) => item)];
  }

  /** What must be an envelope, or must not be there at all, is an object without a batch. */
  #isNotRoot(): boolean {
    const isSuspect = this.#atRoot && (this.#isOneTooMany || this.#mustEnd);
    return isSuspect && this.#open[0] !== undefined && !this.#open[0].item.batch;
  }

  /**
   * Whether the stretch consists of whole envelopes: the text before it was cut off within a call,
   * and the client began anew. Each must name its time or its key, as no object of a call does.
   */
  #endsWithWholeEnvelopes(): boolean {
    const { isFirst, start, closed } = this.#stretch;
    if (isFirst || this.#previous !== 'close' || this.#isArray.length > 0) return false;
    const areNamed = this.#groundItems.every(
      (item) => isEnvelope(item, false) && hasName(item.parts),
    );
    if (!areNamed) return false;
    // The fault was at its bracket.
    if (closed === 0) return this.#groundItems[0]?.start === start;
    // The fault was at its first key: the quote before it ended the text that had been cut off.
    const before = this.#bytes.toString('latin1', Math.max(0, start - 16), start);
    const pending = closed === 1 && BEFORE_FIRST_KEY.test(before) ? this.#pending : undefined;
    return (
      pending !== undefined &&
      pending.closedBefore === 0 &&
      !pending.hasType &&
      hasName(pending.parts)
    );
  }

  /** Whether the end of the text closes what was open at the fault before it. */
  #closesAll(): boolean {
    const { isFirst, closed, owed } = this.#stretch;
    // Brackets that the end of the text owes may be those that tell the level.
    return isFirst || closed >= owed - 1;
  }

  /** The text or the stretch ends within a call. */
  #loseOpenItem(): void {
    if (this.#oddValue >= 0 && this.#isArray.length === 0) this.#pieces.lose(this.#oddValue);
    const cut = this.#open.find(({ item }) => item.batch === undefined)?.item;
    if (cut && cut !== this.#ignored) this.#pieces.lose(cut.start);
  }

  #acceptPending({ items, parts, closedBefore }: Candidates): void {
    const { isFirst, start, closed, owed, head } = this.#stretch;
    if (isFirst && closedBefore > 0) this.#pieces.lose(start);
    // The calls before a fault belong to the same envelope as those after it.
    const shared = this.#stretch.parts ?? (closed <= owed ? head : undefined);
    // It was closed: an envelope in it is none.
    this.#pieces.accept(items, shared ? Object.assign(shared, parts) : parts, false);
  }

  /**
   * The text begins and ends within an array: its elements stand at the lowest level that the text
   * reaches.
   */
  #acceptCutAtBothEnds(): void {
    const { closed, start } = this.#stretch;
    const { batch, parts } = this.#ground;
    const elements = batch ?? this.#groundItems;
    const closedBefore = batch ? this.#closedBefore.batch : this.#closedBefore.ground;
    // Without a closing bracket nothing says that these objects stand in an array.
    const isArray = closed > 0 && elements.length > 0 && !this.#isInCall();
    if (!isArray || closedBefore > 0) this.#pieces.lose(start);
    if (!isArray) return;
    this.#pieces.accept(elements, parts);
    this.#loseOpenItem();
  }

  /** Whether what follows the array shows that it is a list of a call. */
  #isInCall(): boolean {
    const { key, hasOtherKeys } = this.#ground;
    const isCutKey = this.#isArray.length === 0 && this.#previous === 'string' && key === '';
    if (!isCutKey) return hasOtherKeys;
    const name = this.#bytes.toString('latin1', ...this.#string);
    return hasOtherKeys || ![...TAIL_KEYS].some((each) => each.startsWith(name));
  }
}
