import { type Destination } from '../model/config';
import { type Message } from '../model/message';
import { type FilterMatcher } from '../model/route';
import { MessageBudget, spent } from './work-limit';
import { compileExpression, type Expression } from './compile';
import { type Mistake } from './syntax';
import { messageVariables, type Variables } from './json-values';

/**
 * Filters of destinations, compiled once for each version of a `config` entry. The entry's object is new for each
 * version.
 */
const compiled = new WeakMap<Destination, Expression | Mistake>();

/**
 * Returns a function that evaluates destinations' filters for one message. The message's variables are created on first
 * use.
 * @param filters most filters to evaluate; they share the work limit of one message
 */
export function filtersOf(message: Message, filters = 1): FilterMatcher {
  let variables: Variables | undefined;
  const budget = new MessageBudget(filters);
  return (destination) => {
    const { filter = 'true' } = destination;
    let expression = compiled.get(destination);
    if (!expression) compiled.set(destination, (expression = compileExpression(filter, 'filter')));
    // It was valid when it was set, under the rules of another version.
    if (expression.kind === 'mistake') return expression.message;
    const outcome = expression.evaluate((variables ??= messageVariables(message)), undefined, budget.next());
    budget.take(spent());
    return typeof outcome === 'boolean' ? outcome : outcome.message;
  };
}
