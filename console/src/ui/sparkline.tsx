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
