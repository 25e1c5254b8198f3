import { type RequestListener } from 'node:http';
import { observeServer, watchRequest } from '../../shared/telemetry/http-server';
import { metrics, only } from '../../shared/telemetry/metrics';
import { type Alerts } from './alerts/runner';
import { type History } from './history/history';
import { BASE, findPath } from './app/mount';

/** Metrics of control: its requests, and whether its history can be written. */

/** Returns the app with metrics of its requests. */
export function watched(app: RequestListener): RequestListener {
  observeServer();
  return (req, res) => {
    const { url = '' } = req;
    watchRequest(req, res, () => documentedPath(url));
    app(req, res);
  };
}

export function observeAlerts(alerts: Pick<Alerts, 'behindSeconds'>): void {
  metrics.gauge(
    {
      name: 'waypost.alerts.behind',
      unit: 's',
      help:
        'Time since alerts were last decided on all of `attempts`. It grows while `attempts` ' +
        'is not read to its end within 10 s: Kafka or the database is away, or the reader is ' +
        'too slow. Around 1 in normal operation; 0 where another process decides.',
    },
    () => only(alerts.behindSeconds),
  );
}

export function observeHistory(history: Pick<History, 'trouble' | 'leftOut'>): void {
  metrics.counted(
    {
      name: 'waypost.history.skipped',
      help: 'Records of `attempts` and `config` that the history could not store and skipped.',
    },
    () => only(history.leftOut),
  );
  metrics.gauge(
    {
      name: 'waypost.history.broken',
      help:
        '1 while control cannot write the database of the history. Deliveries continue, and ' +
        '`attempts` keeps the events.',
    },
    () => only(Number(history.trouble !== undefined)),
  );
}

/**
 * Returns the path of the table, such as `/api/v1/deliveries/{id}`, without anything from the
 * client, or an empty text for an unknown path.
 */
export function documentedPath(url: string): string {
  const found = findPath(url);
  return found ? BASE + found.path.template : '';
}
