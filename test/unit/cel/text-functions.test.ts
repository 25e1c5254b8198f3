import { compileExpression } from '../../../shared/cel/compile';
import { messageVariables } from '../../../shared/cel/json-values';
import { type Message } from '../../../shared/model/message';

/** Places in a text with a character that UTF-16 writes as two units. */

const message: Message = {
  type: 'track',
  messageId: 'm1',
  timestamp: '2026-03-04T05:06:07.000Z',
  receivedAt: '2026-03-04T05:06:09.500Z',
  event: '😀a😀b',
  name: 'abcb',
};

test.each([
  'size(event) == 4',
  'event.substring(0, size(event)) == event',
  'event.substring(1) == "a😀b"',
  'event.substring(0, 1) == "😀"',
  'event.charAt(0) == "😀"',
  'event.charAt(3) == "b"',
  'event.charAt(4) == ""',
  'event.indexOf("a") == 1',
  'event.indexOf("😀", 1) == 2',
  'event.lastIndexOf("😀") == 2',
  'event.lastIndexOf("😀", 1) == 0',
  'event.indexOf("z") == -1',
  'name.indexOf("b", 2) == 3',
  'name.lastIndexOf("b") == 3',
  'name.substring(1, 3) == "bc"',
])('%s', (text) => {
  const expression = compileExpression(text, 'filter');
  if (expression.kind === 'mistake') throw new Error(expression.message);
  expect(expression.evaluate(messageVariables(message))).toBe(true);
});

test.each(['event.charAt(5) == ""', 'event.substring(3, 2) == ""', 'event.indexOf("a", 5) == 0'])(
  '%s fails',
  (text) => {
    const expression = compileExpression(text, 'filter');
    if (expression.kind === 'mistake') throw new Error(expression.message);
    expect(expression.evaluate(messageVariables(message))).not.toBe(true);
  },
);
