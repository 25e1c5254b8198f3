import { type Encryptor } from '../../shared/config/encryption';
import { type ConfigView } from '../../shared/config/types';
import { type BatchProducer, type Kafka } from '../../shared/kafka/port';
import { type Networks } from '../../shared/model/address-warning';
import { type TopicRetention } from '../../shared/runtime/retention';
import { type Log } from '../../shared/telemetry/log';
import { type TokenUses } from './tokens/token-uses';
import { type ConfigEntries } from './config/config-entries';
import { type Events } from './debugger/events';
import { type ExpressionWork } from './expressions/work';
import { type EventNames } from './sources/event-names';
import { type History } from './history/history';
import { type ProfileStatus } from './audiences/status';
import { type LimitedCalls } from './overview/call-counts';
import { type MemberPages } from './audiences/member-pages';
import { type Previews } from './audiences/previews';
import { type Replays } from './replays/runner';
import { type BodyIndex } from './search/body-index';
import { type TestSends } from './destinations/test-send';

/** Everything the routes need. */
export interface ControlContext {
  config: ConfigView;
  /** bounds the expressions of requests */
  work: Pick<ExpressionWork, 'inTurn'>;
  entries: ConfigEntries;
  encryptor: Encryptor;
  tests: TestSends;
  events: Pick<Events, 'ring' | 'streams'>;
  seen: Pick<EventNames, 'write'>;
  /** requests that ingest answered with 429 */
  limited: Pick<LimitedCalls, 'count' | 'bySource'>;
  uses: Pick<TokenUses, 'all'>;
  replays: Pick<Replays, 'start' | 'startRecall' | 'get' | 'cancel' | 'resume'>;
  /** status of audiences and computed traits */
  profiles: Pick<ProfileStatus, 'of' | 'membersOf'>;
  /** previews, evaluated by the audiences service */
  previews: Pick<Previews, 'start' | 'get' | 'end'>;
  members: Pick<MemberPages, 'page' | 'find'>;
  /** WAYPOST_RETRY_WINDOW; also the window of replayed deliveries */
  windowMs: number;
  /** WAYPOST_TOPIC_RETENTION */
  retention: TopicRetention;
  /** the searchable bodies */
  bodies: Pick<BodyIndex, 'retentionMs'>;
  /** WAYPOST_RETRY_DELAYS */
  tiersMs: readonly number[];
  /** WAYPOST_SMTP_URL is set */
  sendsMail: boolean;
  /** WAYPOST_ALLOWED_NETWORKS, WAYPOST_FORBIDDEN_NETWORKS */
  networks: Networks;
  history: Pick<History, 'ask' | 'forget' | 'hasRead' | 'forgotten' | 'learnDeletions'>;
  producer: Pick<BatchProducer, 'send'>;
  kafka: Pick<Kafka, 'read' | 'ranges'>;
  /** address of ingest for clients */
  ingest: { url: string | null; port: number };
  log: Log;
  now: () => Date;
}
