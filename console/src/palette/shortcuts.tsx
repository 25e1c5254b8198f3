import { text } from '../texts';

const { does, keys } = text.shell.palette;

const SHORTCUTS: [keys: string[], does: string][] = [
  [[keys.control, 'K'], does.search],
  [['/'], does.field],
  [['?'], does.keys],
  [['↑', '↓'], does.rows],
  [[keys.enter], does.open],
  [[keys.space], does.peek],
  [[keys.escape], does.close],
];

/** The keys that work on every page and in lists. */
export function Shortcuts() {
  return (
    <dl className="keys">
      {SHORTCUTS.map(([pressed, effect]) => (
        <div key={effect}>
          <dt>
            {pressed.map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>
          <dd>{effect}</dd>
        </div>
      ))}
    </dl>
  );
}
