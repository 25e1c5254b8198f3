import { CRIMES, type Finding, type Verdict } from './verify-run';

/** Describes a verdict in words, and its violations. Pure. */

const SHOWN = 5;

export function violationsOf(verdict: Verdict): string[] {
  const violations = CRIMES.flatMap((crime) => {
    const findings = verdict.crimes[crime];
    return findings.length === 0
      ? []
      : [`${crime}: ${findings.length} (${findings.slice(0, SHOWN).map(say).join('; ')})`];
  });
  for (const [role, { unexplained }] of Object.entries(verdict.repeats)) {
    if (unexplained.length === 0) continue;
    const some = unexplained
      .slice(0, SHOWN)
      .map(({ delivery, previousAt, at }) => `${delivery} taken ${iso(previousAt)} and ${iso(at)}`);
    violations.push(`unexplained repeats at ${role}: ${unexplained.length} (${some.join('; ')})`);
  }
  for (const [role, { shares }] of Object.entries(verdict.repeats)) {
    for (const { what, repeats, inFlight } of shares) {
      if (repeats > inFlight) {
        violations.push(`${what}: ${repeats} repeats at ${role}, and ${inFlight} were in flight`);
      }
    }
  }
  const { unexplained } = verdict.breaches;
  for (const what of new Set(unexplained.map((breach) => breach.what))) {
    const some = unexplained.filter((breach) => breach.what === what);
    const shown = some.slice(0, SHOWN).map(({ delivery, url, previousAt, atMs }) => {
      const before = previousAt > 0 ? ` after ${iso(previousAt)}` : '';
      return `${delivery} at ${url}, ${iso(atMs)}${before}`;
    });
    violations.push(`${what}: ${some.length} (${shown.join('; ')})`);
  }
  const { messages, records } = verdict.cutOff;
  if (messages.size > records) {
    violations.push(`${messages.size} messages are gone, and ${records} records were cut off`);
  }
  violations.push(...verdict.misshown);
  return violations;
}

export function describeVerdict(verdict: Verdict): string[] {
  const {
    acknowledged,
    deliveries,
    delivered,
    cancelled,
    dead,
    notRouted,
    cutOff,
    copies,
    contradictions,
    crimes,
  } = verdict;
  const deadTotal = Object.values(dead).reduce((sum, count) => sum + count, 0);
  const lines = [
    `${acknowledged} calls acknowledged, ${copies} stored again by clients; ${deliveries} ` +
      'deliveries: ' +
      `${delivered} delivered, ${deadTotal} dead, ${cancelled} cancelled, ` +
      `${crimes.lost.length} lost ` +
      `(${notRouted} came after their destination was switched off, ${cutOff.messages.size} of ` +
      `${cutOff.records} records that were cut off)`,
    `dead: ${
      Object.entries(dead)
        .map(([what, count]) => `${what} ${count}`)
        .join(', ') || 'none'
    }`,
    `standing invariants: ${verdict.breaches.total} requests that only a fault explains`,
    `ends that contradict each other: ${contradictions.length} ` +
      `(${contradictions.slice(0, SHOWN).map(say).join('; ')})`,
  ];
  for (const [role, report] of Object.entries(verdict.repeats)) {
    const reasons = Object.entries(report.reasons).map(([reason, count]) => `${reason} ${count}`);
    lines.push(
      `${role}: ${report.taken} taken, ${report.total} repeats (${reasons.join(', ')}, ` +
        `unexplained ${report.unexplained.length})`,
    );
    for (const { what, repeats, inFlight, fromMs, untilMs } of report.shares) {
      lines.push(
        `  ${what}: ${repeats} repeats of ${inFlight} in flight, taken from ${fromMs} to ` +
          `${untilMs} ms of its moment`,
      );
    }
  }
  return lines;
}

function say({ message, role, why }: Finding): string {
  return `${message} at ${role}: ${why}`;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
