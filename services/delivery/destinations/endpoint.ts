import { type BatchSettings } from '../../../shared/model/batch';
import { type PreparedSignatures } from '../../../shared/model/custom-signatures';
import { type RetryPlan } from '../../../shared/model/retry-plan';
import { type PreparedSecrets } from '../../../shared/model/sign';
import { type Proxy } from '../http/tunnel';
import { type LaneUrl } from '../lanes/registry';
import { type PreparedAuth } from './endpoint-auth';

/** A destination and its URLs in their decrypted form, ready to be sent to. */

export interface Endpoint extends LaneUrl {
  /** ms for one request; absent: as the settings say */
  timeoutMs?: number;
  /** absent: it is connected to directly */
  proxy?: Proxy;
  /** further statuses that are retried */
  retriedStatuses?: ReadonlySet<number>;
  /** of its destination */
  batch?: BatchSettings;
  /** including the query */
  path: string;
  /** alternating names and values, including the headers of the authentication */
  staticHeaders: string[];
  /**
   * absent: neither a client certificate, nor authorities, nor an authentication beyond its headers
   */
  auth?: Pick<PreparedAuth, 'credentials' | 'bodyStart' | 'tls'>;
  /** texts to mask in its responses (http/redact.ts) */
  secrets: readonly string[];
  /** switched off in the configuration; absent: on */
  disabled?: true;
  /** how often it was switched on again; absent: never */
  enables?: number;
  /** of its static headers, in place of Waypost's */
  userAgent?: string;
  /** why it can never be sent to */
  problem?: string;
}

export interface OpenDestination {
  enabled: boolean;
  paused: boolean;
  endpoints: Endpoint[];
  secrets: PreparedSecrets | undefined;
  plan?: RetryPlan;
  /** absent: as of every destination */
  signatures?: PreparedSignatures;
  /** bytes of a body above which it is compressed */
  gzipAbove?: number;
}

/** The same object until the destination changes. */
export interface OpenLookup {
  kind: 'open';
  version: number;
  destination: OpenDestination;
}

export type Lookup =
  | OpenLookup
  | { kind: 'deleted' }
  /** WAYPOST_SECRET_KEY of this process does not decrypt its secrets */
  | { kind: 'sealed'; version: number; why: string }
  /**
   * its record in `config` cannot be read or used by this process: a newer Waypost wrote it, it is
   * damaged, or no key of WAYPOST_SECRET_KEY authenticates it
   */
  | { kind: 'unreadable' };
