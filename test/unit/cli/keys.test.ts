import { PassThrough } from 'node:stream';
import { type Answered, Keys } from '../../../cli/listen/keys';
import { clipboard, readKeys } from '../../../cli/listen/terminal';

const aForward = (n: number) => ({
  id: `dlv_${n}`,
  body: Buffer.from('{}'),
  event: { id: 'e', at: '', source: 'src_1', accepted: true, call: {}, warnings: [] },
});

/** Presses keys after a number of events, and returns what happened. */
function pressed(events: number, keys: string): string[] {
  const done: string[] = [];
  const note = (what: string) => (chosen?: Answered) =>
    done.push(chosen ? `${what} ${chosen.forward.id}` : what);
  const actions = {
    retry: note('retry'),
    inspect: note('inspect'),
    copy: note('copy'),
    selected: note('selected'),
  };
  const listener = new Keys({ ...actions, help: note('help'), stop: note('stop') });
  for (let n = 1; n <= events; n++) {
    listener.answered(aForward(n), { status: 200, ms: 1, tries: 1 });
  }
  listener.press(keys);
  return done;
}

test.each<[string, number, string, string[]]>([
  ['act on the newest event', 3, 'ric', ['retry dlv_3', 'inspect dlv_3', 'copy dlv_3']],
  ['choose an earlier event', 3, 'kkr', ['selected dlv_2', 'selected dlv_1', 'retry dlv_1']],
  [
    'choose a later event',
    3,
    'kkjr',
    ['selected dlv_2', 'selected dlv_1', 'selected dlv_2', 'retry dlv_2'],
  ],
  ['stop at the first event', 2, 'kkk', ['selected dlv_1', 'selected dlv_1', 'selected dlv_1']],
  ['do nothing before the first event', 0, 'rickj', []],
  ['may be a text that was pasted', 1, '__proto__', ['retry dlv_1']],
  ['show the help', 0, '?', ['help']],
  ['stop the listener', 1, 'q', ['stop']],
  ['stop it by Ctrl-C, which is a key now', 1, '\u0003', ['stop']],
  ['choose by the arrow', 2, '\u001b[A', ['selected dlv_1']],
  ['ignore other keys', 2, '\u001b[Fxyz', []],
])('the keys of listen %s', (_, events, keys, expected) => {
  expect(pressed(events, keys)).toEqual(expected);
});

test('keys are read from a terminal until the end, and from nothing else', () => {
  const modes: boolean[] = [];
  const terminal = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (raw: boolean) => modes.push(raw),
  });
  const seen: string[] = [];
  const stop = new AbortController();
  expect(readKeys(terminal, (key) => seen.push(key), stop.signal)).toBe(true);
  terminal.emit('data', Buffer.from('r'));
  stop.abort();
  terminal.emit('data', Buffer.from('i'));
  expect([seen, modes]).toEqual([['r'], [true, false]]);
  expect(readKeys(new PassThrough(), () => undefined, new AbortController().signal)).toBe(false);
});

test('the clipboard gets a text by OSC 52', () => {
  expect(clipboard('curl')).toBe('\u001b]52;c;Y3VybA==\u0007');
});
