import { count } from '../lib/labels';
import { text } from '../texts';

const words = text.ui.sparkline;

/** Deliveries and failed attempts of each step as small bars, for a row of a table. */
export function Sparkline({
  delivered,
  failed,
}: {
  delivered: readonly number[];
  failed: readonly number[];
}) {
  const steps = delivered.map((n, i) => ({ delivered: n, failed: failed[i] ?? 0 }));
  const most = Math.max(1, ...steps.map((step) => step.delivered + step.failed));
  const sum = (numbers: readonly number[]) => numbers.reduce((total, n) => total + n, 0);
  const says = words.deliveredFailed(count(sum(delivered)), words.attempts(sum(failed)));
  const height = (n: number) => (n / most) * HEIGHT;
  return (
    <svg
      className="sparkline"
      viewBox={`0 0 ${steps.length * STEP} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={says}
    >
      {steps.map((step, i) => (
        <g key={i}>
          <rect
            className="spark-delivered"
            x={i * STEP}
            y={HEIGHT - height(step.delivered)}
            width={STEP - GAP}
            height={height(step.delivered)}
          />
          <rect
            className="spark-failed"
            x={i * STEP}
            y={HEIGHT - height(step.delivered + step.failed)}
            width={STEP - GAP}
            height={height(step.failed)}
          />
        </g>
      ))}
    </svg>
  );
}

const STEP = 4;
const GAP = 1;
const HEIGHT = 24;

/** What a colour stands for. */
type Kind = 'good' | 'lost' | 'wait' | 'calm';

const WIDE = 100;

/** Counts of each step as bars. A number beside it says their sum. */
export function BarSpark({ kind, values }: { kind: Kind; values: readonly number[] }) {
  const most = Math.max(1, ...values);
  const step = WIDE / Math.max(1, values.length);
  return (
    <svg viewBox={`0 0 ${WIDE} ${HEIGHT}`} preserveAspectRatio="none">
      {values.map((value, i) => {
        const height = value === 0 ? 0 : Math.max(1, (value / most) * HEIGHT);
        return (
          <rect
            key={i}
            className={`spark-${kind}`}
            x={i * step}
            y={HEIGHT - height}
            width={step * 0.75}
            height={height}
          />
        );
      })}
      <rect className="spark-base" y={HEIGHT - 0.5} width={WIDE} height="0.5" />
    </svg>
  );
}

/** A value of each step as a line; null: there is none, and the line has a gap. */
export function LineSpark({ values }: { values: readonly (number | null)[] }) {
  const most = Math.max(1, ...values.map((value) => value ?? 0));
  const x = (i: number) => (i / Math.max(1, values.length - 1)) * WIDE;
  const y = (value: number) => HEIGHT - 1 - (value / most) * (HEIGHT - 2);
  const path = values
    .map((value, i) => {
      if (value === null) return '';
      const isStart = i === 0 || values[i - 1] === null;
      const at = `${x(i).toFixed(2)} ${y(value).toFixed(2)}`;
      // A point alone is a short line.
      return isStart ? `M${at}h0.5` : `L${at}`;
    })
    .join('');
  return (
    <svg viewBox={`0 0 ${WIDE} ${HEIGHT}`} preserveAspectRatio="none">
      <path className="spark-line" d={path} />
      <rect className="spark-base" y={HEIGHT - 0.5} width={WIDE} height="0.5" />
    </svg>
  );
}

/** The parts of a number as parts of a bar. */
export function ShareSpark({ parts }: { parts: readonly { kind: Kind; value: number }[] }) {
  const total = parts.reduce((sum, { value }) => sum + value, 0);
  const starts = parts.map((_, i) => parts.slice(0, i).reduce((sum, part) => sum + part.value, 0));
  return (
    <svg viewBox={`0 0 ${WIDE} ${HEIGHT}`} preserveAspectRatio="none">
      <rect className="spark-base" y={HEIGHT - 6} width={WIDE} height="6" />
      {total > 0 &&
        parts.map(({ kind, value }, i) => (
          <rect
            key={kind}
            className={`spark-${kind}`}
            x={((starts[i] ?? 0) / total) * WIDE}
            y={HEIGHT - 6}
            width={(value / total) * WIDE}
            height="6"
          />
        ))}
    </svg>
  );
}
