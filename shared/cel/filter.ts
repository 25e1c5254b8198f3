import { type Destination } from '../model/config';
import { type Message } from '../model/message';
import { type FilterMatcher } from '../model/route';
import { MessageBudget, spent } from './work-limit';
import { compileExpression, type Expression } from './compile';
import { type Mistake } from './syntax';
import { messageVariables, type Variables } from './json-values';

/** Filters of destinations: compiled once for each version of an entry of `config`, whose object lives as long. */
const compiled = new WeakMap<Destination, Expression | Mistake>();

/**
 * Asks the filters of destinations about one message. What it needs of the message is made when first asked.
 * @param filters how many may be asked at most: they share the work that one message may cause
 */
export function filtersOf(message: Message, filters = 1): FilterMatcher {
  let variables: Variables | undefined;
  const budget = new MessageBudget(filters);
  return (destination) => {
    const { filter = 'true' } = destination;
    let expression = compiled.get(destination);
    if (!expression) compiled.set(destination, (expression = compileExpression(filter, 'filter')));
    // It was checked when it was set: by a Waypost of other rules.
    if (expression.kind === 'mistake') return expression.message;
    const outcome = expression.evaluate((variables ??= messageVariables(message)), undefined, budget.next());
    budget.take(spent());
    return typeof outcome === 'boolean' ? outcome : outcome.message;
  };
}
