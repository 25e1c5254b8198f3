import { type RequestListener } from 'node:http';
import { observeServer, watchRequest } from '../../shared/telemetry/http-server';
import { metrics, only } from '../../shared/telemetry/metrics';
import { type Alerts } from './alerts/runner';
import { type History } from './history/history';
import { type Readers } from './reading/reader';
import { BASE, findPath } from './app/mount';

/** Metrics of control: its requests, and whether its history can be written. */

export function watched(app: RequestListener): RequestListener {
  observeServer();
  return (req, res) => {
    watchRequest(req, res, documentedPath(req.url ?? ''));
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

export function observeReaders(history: Pick<History, 'trouble'>, readers: Readers): void {
  metrics.counted(
    {
      name: 'waypost.history.skipped',
      help: 'Records of `attempts` and `config` that the history could not store and skipped.',
    },
    () => only(readers.history.leftOut + readers.audit.leftOut),
  );
  metrics.gauge(
    {
      name: 'waypost.history.broken',
      help:
        '1 while control cannot write the database of the history. Deliveries continue, and ' +
        '`attempts` keeps the events.',
    },
    () =>
      only(
        Number((history.trouble ?? readers.history.trouble ?? readers.audit.trouble) !== undefined),
      ),
  );
  metrics.gauge(
    {
      name: 'waypost.reader.behind',
      unit: 's',
      labels: { reader: 'history, audit, alerts, event_names, search' },
      help:
        'Time up to which a reader of control has not yet stored its topic, counted back from ' +
        'now. A few seconds in normal operation.',
    },
    () =>
      Object.values(readers).map(({ name, behindSeconds: value }) => ({
        labels: { reader: name },
        value,
      })),
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
