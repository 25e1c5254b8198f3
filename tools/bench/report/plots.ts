import { SERVICES } from '../../../deploy/standalone/service-list';
import { spread } from '../arithmetic';
import { hangings, ofPhases, shareOf } from './isolation-rows';
import { microsOf } from './cost-rows';
import { type PipelineFigure, type Round } from './figures';
import { type Bar, barPlot } from './plot';

/** Returns the plots of a run by name, with medians over the rounds. It omits plots without figures. Pure. */
export function plotsOf(rounds: readonly Round[]): Map<string, string> {
  const plots = new Map<string, string>();
  const latencies = isolationBars(rounds);
  if (latencies.length > 0) {
    const title = 'Healthy endpoints while others hang: p99 from the call to its webhook';
    plots.set('isolation', barPlot({ title, unit: 'ms', bars: latencies }));
  }
  const costs = [
    costBar('batches of 100', rounds, ({ batches }) => batches),
    costBar('single calls', rounds, ({ singles }) => singles),
  ].filter(({ parts }) => parts.length > 0);
  if (costs.length > 0) {
    plots.set('cpu', barPlot({ title: 'CPU time of one webhook, by service', unit: 'CPU-µs', bars: costs }));
  }
  return plots;
}

function isolationBars(rounds: readonly Round[]): Bar[] {
  const figures = rounds.flatMap(({ isolation }) => isolation ?? []);
  const [first] = figures;
  if (!first) return [];
  return hangings(first.phases).flatMap((hanging) => {
    const p99 = spread(figures.map(({ phases }) => ofPhases(phases, hanging, ({ p99Ms }) => p99Ms)));
    return p99 ? [{ label: shareOf(hanging, first.endpoints), parts: [{ name: 'p99', value: p99.median }] }] : [];
  });
}

function costBar(label: string, rounds: readonly Round[], of: (round: Round) => PipelineFigure | undefined): Bar {
  const parts = [...SERVICES, 'broker'].flatMap((name) => {
    const micros = spread(
      rounds.map((round) => {
        const figure = of(round);
        return figure && microsOf(figure.cpu, [name], figure.count);
      }),
    );
    return micros ? [{ name, value: micros.median }] : [];
  });
  return { label, parts };
}
