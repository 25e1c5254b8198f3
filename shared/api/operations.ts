/** Generated from the OpenAPI document by `npm run generate`: change services/control/http/operations.ts instead. */

export type Source = {
  id: string;
  name: string;
  enabled: boolean;
  writeKey: string | null;
  /** Names of blocked track events */
  blockedEvents: string[];
  /** null means default, for the object and for each field */
  limits: {
    maxPerSecond: number | null;
    maxBytesPerSecond: number | null;
    burst: string | null;
  } | null;
  trust: "server" | "browser";
  oldWriteKeys: ({
    key: string;
    until: string;
  })[];
  version: number;
  createdAt: string;
  updatedAt: string;
};

export type Sources = {
  data: ({
    id: string;
    name: string;
    enabled: boolean;
    writeKey: string | null;
    /** Names of blocked track events */
    blockedEvents: string[];
    /** null means default, for the object and for each field */
    limits: {
      maxPerSecond: number | null;
      maxBytesPerSecond: number | null;
      burst: string | null;
    } | null;
    trust: "server" | "browser";
    oldWriteKeys: ({
      key: string;
      until: string;
    })[];
    version: number;
    createdAt: string;
    updatedAt: string;
  })[];
  next: string | null;
};

export type SourceEvents = {
  data: ({
    name: string;
    /** Count since the first one; 0 if the event is blocked and was never seen */
    count: number;
    lastSeenAt: string | null;
    blocked: boolean;
  })[];
};

export type Destination = {
  id: string;
  name: string;
  type: "webhooks";
  enabled: boolean;
  paused: boolean;
  sources: string[];
  webhooks: ({
    id: string;
    url: string | null;
    headers: Record<string, {
      keep: true;
    }>;
  })[];
  hasSharedSecret: boolean;
  secretRotation: {
    overlapUntil: string;
    switchAt: string;
  } | null;
  types: ("identify" | "track" | "page" | "screen" | "group" | "alias" | "delete")[] | null;
  filter: string | null;
  maxPerSecond: number | null;
  shards: number;
  switchOffAfter: string | null;
  version: number;
  createdAt: string;
  updatedAt: string;
};

export type Destinations = {
  data: ({
    id: string;
    name: string;
    type: "webhooks";
    enabled: boolean;
    paused: boolean;
    sources: string[];
    webhooks: ({
      id: string;
      url: string | null;
      headers: Record<string, {
        keep: true;
      }>;
    })[];
    hasSharedSecret: boolean;
    secretRotation: {
      overlapUntil: string;
      switchAt: string;
    } | null;
    types: ("identify" | "track" | "page" | "screen" | "group" | "alias" | "delete")[] | null;
    filter: string | null;
    maxPerSecond: number | null;
    shards: number;
    switchOffAfter: string | null;
    version: number;
    createdAt: string;
    updatedAt: string;
  })[];
  next: string | null;
};

export type Audience = {
  id: string;
  name: string;
  /** The name of the trait for receivers */
  key: string;
  /** The source that sends its updates */
  source: string;
  sources: string[] | null;
  destinations: string[];
  syncEvery: string;
  status: {
    phase: "none" | "counting" | "first_sync" | "live";
    /** Members as sent to receivers. For a computed trait: users with a value */
    members: number;
    /** Profiles that the first sync has checked */
    counted: number;
    /** All profiles */
    of: number;
    /** Full profiles: some actions of these users no longer count */
    full: number;
    sent: number;
    waiting: number;
    /** The last upload that all partitions have applied */
    upload: number;
    lastSync: {
      at: string;
      looked: number;
      changed: number;
    } | null;
  };
  version: number;
  createdAt: string;
  updatedAt: string;
  /** null if members are uploaded */
  condition: string | null;
};

export type Audiences = {
  data: ({
    id: string;
    name: string;
    /** The name of the trait for receivers */
    key: string;
    /** The source that sends its updates */
    source: string;
    sources: string[] | null;
    destinations: string[];
    syncEvery: string;
    status: {
      phase: "none" | "counting" | "first_sync" | "live";
      /** Members as sent to receivers. For a computed trait: users with a value */
      members: number;
      /** Profiles that the first sync has checked */
      counted: number;
      /** All profiles */
      of: number;
      /** Full profiles: some actions of these users no longer count */
      full: number;
      sent: number;
      waiting: number;
      /** The last upload that all partitions have applied */
      upload: number;
      lastSync: {
        at: string;
        looked: number;
        changed: number;
      } | null;
    };
    version: number;
    createdAt: string;
    updatedAt: string;
    /** null if members are uploaded */
    condition: string | null;
  })[];
  next: string | null;
};

export type UploadedMembers = {
  upload: number;
  lines: number;
};

export type Members = {
  data: ({
    userId: string;
    /** The trait's value; true for an audience */
    value: unknown;
    /** When this value was sent to receivers */
    since: string;
  })[];
  next: string | null;
};

export type Preview = {
  id: string;
  phase: "counting" | "done" | "failed";
  /** Number of members; an estimate unless `exact` */
  members: number;
  /** Profiles checked */
  looked: number;
  /** Profiles to check: all, or a sample */
  of: number;
  exact: boolean;
  /** Half the width of the 95 % interval of `members`; 0 if exact */
  plusMinus: number;
  /** Checked profiles whose condition failed; they are no members */
  failed: number;
  /** Up to 10 of the members, with some of their traits */
  sample: ({
    userId: string;
    traits: Record<string, unknown>;
  })[];
  /** Why it waits or failed, or which users it could not count */
  detail: string | null;
  /** The preview ends then, or a minute after its last request */
  expiresAt: string;
};

export type Syncs = {
  data: ({
    at: string;
    members: number;
    /** Users checked because of a change */
    looked: number;
    /** Calls created by this sync */
    changed: number;
    /** Calls sent in total up to this sync */
    sent: number;
    /** Calls not yet acknowledged by Kafka */
    waiting: number;
  })[];
  next: string | null;
};

export type Sizes = {
  /** Oldest first */
  data: ({
    at: string;
    members: number;
  })[];
};

export type ComputedTrait = {
  id: string;
  name: string;
  /** The name of the trait for receivers */
  key: string;
  /** The source that sends its updates */
  source: string;
  sources: string[] | null;
  destinations: string[];
  syncEvery: string;
  status: {
    phase: "none" | "counting" | "first_sync" | "live";
    /** Members as sent to receivers. For a computed trait: users with a value */
    members: number;
    /** Profiles that the first sync has checked */
    counted: number;
    /** All profiles */
    of: number;
    /** Full profiles: some actions of these users no longer count */
    full: number;
    sent: number;
    waiting: number;
    /** The last upload that all partitions have applied */
    upload: number;
    lastSync: {
      at: string;
      looked: number;
      changed: number;
    } | null;
  };
  version: number;
  createdAt: string;
  updatedAt: string;
  compute: "count" | "sum" | "min" | "max" | "first" | "last" | "most_frequent" | "unique";
  event: string;
  property: string | null;
  window: string | null;
};

export type ComputedTraits = {
  data: ({
    id: string;
    name: string;
    /** The name of the trait for receivers */
    key: string;
    /** The source that sends its updates */
    source: string;
    sources: string[] | null;
    destinations: string[];
    syncEvery: string;
    status: {
      phase: "none" | "counting" | "first_sync" | "live";
      /** Members as sent to receivers. For a computed trait: users with a value */
      members: number;
      /** Profiles that the first sync has checked */
      counted: number;
      /** All profiles */
      of: number;
      /** Full profiles: some actions of these users no longer count */
      full: number;
      sent: number;
      waiting: number;
      /** The last upload that all partitions have applied */
      upload: number;
      lastSync: {
        at: string;
        looked: number;
        changed: number;
      } | null;
    };
    version: number;
    createdAt: string;
    updatedAt: string;
    compute: "count" | "sum" | "min" | "max" | "first" | "last" | "most_frequent" | "unique";
    event: string;
    property: string | null;
    window: string | null;
  })[];
  next: string | null;
};

export type RotatedDestination = {
  id: string;
  name: string;
  type: "webhooks";
  enabled: boolean;
  paused: boolean;
  sources: string[];
  webhooks: ({
    id: string;
    url: string | null;
    headers: Record<string, {
      keep: true;
    }>;
  })[];
  hasSharedSecret: boolean;
  secretRotation: {
    overlapUntil: string;
    switchAt: string;
  } | null;
  types: ("identify" | "track" | "page" | "screen" | "group" | "alias" | "delete")[] | null;
  filter: string | null;
  maxPerSecond: number | null;
  shards: number;
  switchOffAfter: string | null;
  version: number;
  createdAt: string;
  updatedAt: string;
  /** The generated secret, only in this response */
  sharedSecret?: string;
};

export type Test = {
  delivery: string;
  status: "delivered" | "dead" | "cancelled";
  reason: string | null;
  attempt: {
    n: number;
    at: string;
    durationMs: number;
    outcome: "delivered" | "retry" | "rejected";
    urls: ({
      /** The webhook's id */
      url: string;
      origin: string;
      outcome: "delivered" | "retry" | "rejected";
      status?: number;
      durationMs: number;
      /** ms by phase. Phases without time are omitted */
      phases?: Partial<Record<"dns" | "connect" | "tls" | "headers" | "body", number>>;
      error?: {
        code: string;
        phase?: string;
        message: string;
      };
      response?: {
        headers: Record<string, string>;
        body: string;
        truncated: boolean;
      };
    })[];
  } | null;
};

export type Deliveries = {
  data: ({
    id: string;
    messageId: string;
    source: string;
    destination: string;
    type: "identify" | "track" | "page" | "screen" | "group" | "alias" | "delete";
    userId: string | null;
    status: "waiting" | "retrying" | "delivered" | "dead" | "cancelled";
    /** Why the delivery waits or ended */
    reason: string | null;
    acceptedAt: string;
    expiresAt: string;
    nextAttemptAt: string | null;
    /** When it was delivered, dead-lettered or cancelled */
    settledAt: string | null;
    /** Number of replays */
    replay: number;
    /** Attempts since it was first sent or last replayed */
    attemptsMade: number;
    test: boolean;
    attempts: ({
      n: number;
      replay: number;
      at: string;
      durationMs: number;
      outcome: "delivered" | "retry" | "rejected";
      urls: ({
        /** The webhook's id */
        url: string;
        origin: string;
        outcome: "delivered" | "retry" | "rejected";
        status?: number;
        durationMs: number;
        /** ms by phase. Phases without time are omitted */
        phases?: Partial<Record<"dns" | "connect" | "tls" | "headers" | "body", number>>;
        error?: {
          code: string;
          phase?: string;
          message: string;
        };
        response?: {
          headers: Record<string, string>;
          body: string;
          truncated: boolean;
        };
        /** The full current URL; null if unknown */
        address?: string | null;
        /** Rebuilt from the current destination, not stored. Secrets and values specific to the attempt are *** */
        request?: {
          rebuilt: true;
          headers: Record<string, string>;
        };
      })[];
    })[];
  })[];
  next: string | null;
};

export type Delivery = {
  id: string;
  messageId: string;
  source: string;
  destination: string;
  type: "identify" | "track" | "page" | "screen" | "group" | "alias" | "delete";
  userId: string | null;
  status: "waiting" | "retrying" | "delivered" | "dead" | "cancelled";
  /** Why the delivery waits or ended */
  reason: string | null;
  acceptedAt: string;
  expiresAt: string;
  nextAttemptAt: string | null;
  /** When it was delivered, dead-lettered or cancelled */
  settledAt: string | null;
  /** Number of replays */
  replay: number;
  /** Attempts since it was first sent or last replayed */
  attemptsMade: number;
  test: boolean;
  attempts: ({
    n: number;
    replay: number;
    at: string;
    durationMs: number;
    outcome: "delivered" | "retry" | "rejected";
    urls: ({
      /** The webhook's id */
      url: string;
      origin: string;
      outcome: "delivered" | "retry" | "rejected";
      status?: number;
      durationMs: number;
      /** ms by phase. Phases without time are omitted */
      phases?: Partial<Record<"dns" | "connect" | "tls" | "headers" | "body", number>>;
      error?: {
        code: string;
        phase?: string;
        message: string;
      };
      response?: {
        headers: Record<string, string>;
        body: string;
        truncated: boolean;
      };
      /** The full current URL; null if unknown */
      address?: string | null;
      /** Rebuilt from the current destination, not stored. Secrets and values specific to the attempt are *** */
      request?: {
        rebuilt: true;
        headers: Record<string, string>;
      };
    })[];
  })[];
  budget: {
    attemptsMade: number;
    nextAttemptAt: string | null;
    expiresAt: string;
    waitsFor: string | null;
  };
  /** The JSON body of the POST; null if Kafka no longer has it */
  body: unknown;
};

export type Events = {
  data: ({
    id: string;
    at: string;
    source: string;
    accepted: boolean;
    /** The message as accepted, or the call as it was rejected */
    call: unknown;
    /** Machine-readable rejection code */
    code?: string;
    /** Human-readable rejection message */
    message?: string;
    /** Destinations of an accepted event, or why it skips them, by the current configuration */
    destinations?: ({
      destination: string;
      name: string;
      outcome: "routed" | "source_off" | "blocked" | "excluded" | "off" | "not_connected" | "type" | "filtered" | "filter_failed";
      /** Why the filter failed */
      reason?: string;
    })[];
  })[];
  next: string | null;
};

export type Event = {
  id: string;
  at: string;
  source: string;
  accepted: boolean;
  /** The message as accepted, or the call as it was rejected */
  call: unknown;
  /** Machine-readable rejection code */
  code?: string;
  /** Human-readable rejection message */
  message?: string;
  /** Destinations of an accepted event, or why it skips them, by the current configuration */
  destinations?: ({
    destination: string;
    name: string;
    outcome: "routed" | "source_off" | "blocked" | "excluded" | "off" | "not_connected" | "type" | "filtered" | "filter_failed";
    /** Why the filter failed */
    reason?: string;
  })[];
};

export type Trial = {
  /** The error in the filter and its position; null if the filter is valid */
  mistake: {
    message: string;
    offset: number;
    line: number;
    column: number;
  } | null;
  tried: number;
  matched: number;
  /** Events for which the evaluation failed; they do not match */
  failed: number;
  failures: ({
    reason: string;
    count: number;
  })[];
  results: ({
    event: string;
    at: string;
    source: string;
    type: "identify" | "track" | "page" | "screen" | "group" | "alias" | "delete";
    /** The event's name, or the page's */
    name: string | null;
    outcome: "match" | "no_match" | "failed";
    reason: string | null;
  })[];
};

export type Deletion = {
  id: string;
  at: string;
  users: number;
  /** Number of deleted `anonymousIds` */
  visitors: number;
  /** The first 20 in list responses */
  userIds: string[];
  /** The first 20 in list responses */
  anonymousIds: string[];
  /** null: all sources */
  sources: string[] | null;
  /** The sources with a `delete` message */
  affected: string[];
  messages: number;
};

export type Deletions = {
  data: ({
    id: string;
    at: string;
    users: number;
    /** Number of deleted `anonymousIds` */
    visitors: number;
    /** The first 20 in list responses */
    userIds: string[];
    /** The first 20 in list responses */
    anonymousIds: string[];
    /** null: all sources */
    sources: string[] | null;
    /** The sources with a `delete` message */
    affected: string[];
    messages: number;
  })[];
  next: string | null;
};

export type ReplayedDelivery = {
  id: string;
  replay: number;
  status: "waiting";
};

export type Replay = {
  id: string;
  status: "counting" | "running" | "done" | "cancelled" | "failed";
  matched: number;
  sent: number;
  from: string | null;
  to: string;
  destination: string;
  origin: "dead_letters" | "messages";
  deliveryStatus: "waiting" | "retrying" | "delivered" | "dead" | "cancelled" | null;
  type: "identify" | "track" | "page" | "screen" | "group" | "alias" | "delete" | null;
  includeDelivered: boolean;
  preview: boolean;
  maxPerSecond: number;
  pass: "counting" | "running";
  /** Progress of the current pass, 0 to 1 */
  progress: number;
  error: string | null;
  /** history: the replay starts when the history has read all events up to the request */
  waitingFor: "history" | null;
  createdAt: string;
  updatedAt: string;
};

export type Replays = {
  data: ({
    id: string;
    status: "counting" | "running" | "done" | "cancelled" | "failed";
    matched: number;
    sent: number;
    from: string | null;
    to: string;
    destination: string;
    origin: "dead_letters" | "messages";
    deliveryStatus: "waiting" | "retrying" | "delivered" | "dead" | "cancelled" | null;
    type: "identify" | "track" | "page" | "screen" | "group" | "alias" | "delete" | null;
    includeDelivered: boolean;
    preview: boolean;
    maxPerSecond: number;
    pass: "counting" | "running";
    /** Progress of the current pass, 0 to 1 */
    progress: number;
    error: string | null;
    /** history: the replay starts when the history has read all events up to the request */
    waitingFor: "history" | null;
    createdAt: string;
    updatedAt: string;
  })[];
  next: string | null;
};

export type Alerts = {
  enabled: boolean;
  webhooks: ({
    id: string;
    url: string | null;
    headers: Record<string, {
      keep: true;
    }>;
  })[];
  hasSharedSecret: boolean;
  secretRotation: {
    overlapUntil: string;
    switchAt: string;
  } | null;
  switchOffAfter: string | null;
  failingFor: string;
  deadLettersEvery: string;
  version: number;
  createdAt: string;
  updatedAt: string;
};

export type RotatedAlerts = {
  enabled: boolean;
  webhooks: ({
    id: string;
    url: string | null;
    headers: Record<string, {
      keep: true;
    }>;
  })[];
  hasSharedSecret: boolean;
  secretRotation: {
    overlapUntil: string;
    switchAt: string;
  } | null;
  switchOffAfter: string | null;
  failingFor: string;
  deadLettersEvery: string;
  version: number;
  createdAt: string;
  updatedAt: string;
  /** The generated secret, only in this response */
  sharedSecret?: string;
};

export type Notice = {
  id: string;
  at: string;
  destination: string;
  /** Name of the destination at that time */
  name: string;
  kind: "failing" | "recovered" | "dead_letters" | "switched_off";
  since: string;
  /** null while it continues */
  endedAt: string | null;
  failures: number;
  deadLetters: number;
  /** The last failure */
  error: string | null;
  /** due: not sent yet; none: no alert is sent */
  alert: "none" | "due" | "sent";
  /** The delivery of the alert */
  delivery: string | null;
  acknowledged: {
    at: string;
    by: {
      id: string;
      name: string;
    };
  } | null;
};

export type Notices = {
  data: ({
    id: string;
    at: string;
    destination: string;
    /** Name of the destination at that time */
    name: string;
    kind: "failing" | "recovered" | "dead_letters" | "switched_off";
    since: string;
    /** null while it continues */
    endedAt: string | null;
    failures: number;
    deadLetters: number;
    /** The last failure */
    error: string | null;
    /** due: not sent yet; none: no alert is sent */
    alert: "none" | "due" | "sent";
    /** The delivery of the alert */
    delivery: string | null;
    acknowledged: {
      at: string;
      by: {
        id: string;
        name: string;
      };
    } | null;
  })[];
  next: string | null;
};

export type Token = {
  id: string;
  name: string;
  role: "admin" | "operator" | "read_only";
  version: number;
  createdAt: string;
  updatedAt: string;
  /** null: all rights of the role */
  rights: ("about:read" | "about:write" | "alerts:read" | "alerts:write" | "audiences:read" | "audiences:write" | "audit:read" | "audit:write" | "catalog:read" | "catalog:write" | "computed-traits:read" | "computed-traits:write" | "deletions:read" | "deletions:write" | "deliveries:read" | "deliveries:write" | "destinations:read" | "destinations:write" | "events:read" | "events:write" | "filters:read" | "filters:write" | "notices:read" | "notices:write" | "overview:read" | "overview:write" | "replays:read" | "replays:write" | "sources:read" | "sources:write" | "tokens:read" | "tokens:write")[] | null;
  /** null: never */
  expiresAt: string | null;
  /** To the minute; null if unknown */
  lastUsedAt: string | null;
};

export type Tokens = {
  data: ({
    id: string;
    name: string;
    role: "admin" | "operator" | "read_only";
    version: number;
    createdAt: string;
    updatedAt: string;
    /** null: all rights of the role */
    rights: ("about:read" | "about:write" | "alerts:read" | "alerts:write" | "audiences:read" | "audiences:write" | "audit:read" | "audit:write" | "catalog:read" | "catalog:write" | "computed-traits:read" | "computed-traits:write" | "deletions:read" | "deletions:write" | "deliveries:read" | "deliveries:write" | "destinations:read" | "destinations:write" | "events:read" | "events:write" | "filters:read" | "filters:write" | "notices:read" | "notices:write" | "overview:read" | "overview:write" | "replays:read" | "replays:write" | "sources:read" | "sources:write" | "tokens:read" | "tokens:write")[] | null;
    /** null: never */
    expiresAt: string | null;
    /** To the minute; null if unknown */
    lastUsedAt: string | null;
  })[];
  next: string | null;
};

export type NewToken = {
  id: string;
  name: string;
  role: "admin" | "operator" | "read_only";
  version: number;
  createdAt: string;
  updatedAt: string;
  /** null: all rights of the role */
  rights: ("about:read" | "about:write" | "alerts:read" | "alerts:write" | "audiences:read" | "audiences:write" | "audit:read" | "audit:write" | "catalog:read" | "catalog:write" | "computed-traits:read" | "computed-traits:write" | "deletions:read" | "deletions:write" | "deliveries:read" | "deliveries:write" | "destinations:read" | "destinations:write" | "events:read" | "events:write" | "filters:read" | "filters:write" | "notices:read" | "notices:write" | "overview:read" | "overview:write" | "replays:read" | "replays:write" | "sources:read" | "sources:write" | "tokens:read" | "tokens:write")[] | null;
  /** null: never */
  expiresAt: string | null;
  /** To the minute; null if unknown */
  lastUsedAt: string | null;
  /** The token, only in this response */
  token: string;
};

export type Session = {
  id: string;
  name: string;
  role: "admin" | "operator" | "read_only";
  /** null: all rights of the role */
  rights: string[] | null;
  expiresAt: string | null;
};

export type Audit = {
  data: ({
    at: string;
    by: {
      id: string;
      name: string;
      role: "admin" | "operator" | "read_only";
    };
    action: "created" | "changed" | "deleted" | "cancelled" | "resumed" | "replayed" | "tested" | "acknowledged";
    kind: "source" | "destination" | "token" | "audience" | "computed_trait" | "deletion" | "replay" | "delivery" | "notice" | "session";
    entry: string;
    name: string;
    /** Version created by the change; null if the configuration did not change */
    version: number | null;
    /** Secrets are *** */
    changes: ({
      field: string;
      from: unknown;
      to: unknown;
    })[];
  })[];
  next: string | null;
};

export type Overview = {
  since: string;
  stepSeconds: number;
  data: ({
    destination: string;
    name: string;
    enabled: boolean;
    paused: boolean;
    delivered: number;
    dead: number;
    cancelled: number;
    attempts: number;
    failedAttempts: number;
    latencyMs: {
      p50: number | null;
      p95: number | null;
    };
    waiting: number;
    retrying: number;
    circuits: ({
      /** The webhook's id */
      url: string;
      origin: string;
      state: "open";
      why: string;
      at: string;
    })[];
  })[];
  series: ({
    at: string;
    delivered: number;
    dead: number;
    cancelled: number;
    attempts: number;
    failedAttempts: number;
    latencyMs: {
      p50: number | null;
      p95: number | null;
    };
  })[];
};

export type Calls = {
  since: string;
  stepSeconds: number;
  series: ({
    at: string;
    accepted: number;
    /** null before the retained period */
    rejected: number | null;
    /** Requests that got 429; null before the retained period */
    limited: number | null;
  })[];
  /** Requests that got 429 since then, by source id. Sources without any are omitted. Absent if your token lacks the right sources:read */
  limitedBySource?: Record<string, number>;
};

export type About = {
  ingest: {
    /** Public URL of ingest (WAYPOST_INGEST_URL), if set */
    url: string | null;
    /** The port of ingest */
    port: number;
  };
};

export type Catalog = {
  data: ({
    type: string;
    name: string;
    description: string;
    /** JSON Schema */
    settings: Record<string, never>;
  })[];
  next: string | null;
};

export type OpenApi = {
  openapi: string;
};

export type Problem = {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  errors?: ({
    pointer?: string;
    parameter?: string;
    detail: string;
  })[];
};

export interface Operations {
  /** Get this document */
  "GET /openapi.json": {
    query: undefined;
    body: undefined;
    answer: OpenApi;
  };
  /** List the available integrations */
  "GET /catalog": {
    query: undefined;
    body: undefined;
    answer: Catalog;
  };
  /** List sources */
  "GET /sources": {
    query: {
      limit?: number;
      /** The `next` of the previous page */
      after?: string;
    };
    body: undefined;
    answer: Sources;
  };
  /** Create a source */
  "POST /sources": {
    query: undefined;
    body: {
      /** Display name */
      name: string;
      /** If false, ingest refuses its calls */
      enabled?: boolean;
      /** Names of blocked track events. They still count as received */
      blockedEvents?: string[];
      limits?: {
        /** Calls a second */
        maxPerSecond?: number | null;
        /** Bytes of request bodies a second, after decompression */
        maxBytesPerSecond?: number | null;
        /** How much unused allowance a source may accumulate, such as 10s */
        burst?: string | null;
      } | null;
      /** browser: the write key is public, and audiences count its calls only if they name the source */
      trust?: "server" | "browser";
    };
    answer: Source;
  };
  /** Get a source */
  "GET /sources/{id}": {
    query: undefined;
    body: undefined;
    answer: Source;
  };
  /** Update a source */
  "PATCH /sources/{id}": {
    query: undefined;
    body: {
      /** Display name */
      name?: string;
      enabled?: boolean | null;
      blockedEvents?: string[] | null;
      limits?: {
        /** Calls a second */
        maxPerSecond?: number | null;
        /** Bytes of request bodies a second, after decompression */
        maxBytesPerSecond?: number | null;
        /** How much unused allowance a source may accumulate, such as 10s */
        burst?: string | null;
      } | null;
      trust?: "server" | "browser" | null;
    };
    answer: Source;
  };
  /** Delete a source */
  "DELETE /sources/{id}": {
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** List the track events of a source by name, most recent first */
  "GET /sources/{id}/events": {
    query: undefined;
    body: undefined;
    answer: SourceEvents;
  };
  /** Rotate the write key of a source */
  "POST /sources/{id}/rotate-key": {
    query: undefined;
    body: {
      /** How long the old one stays valid, such as 0s, 30m, 24h or 7d */
      overlap?: string;
    };
    answer: Source;
  };
  /** List destinations */
  "GET /destinations": {
    query: {
      limit?: number;
      /** The `next` of the previous page */
      after?: string;
    };
    body: undefined;
    answer: Destinations;
  };
  /** Create a destination */
  "POST /destinations": {
    query: undefined;
    body: {
      /** Display name */
      name: string;
      type: "webhooks";
      /** If false, it receives nothing and its waiting deliveries are cancelled */
      enabled?: boolean;
      /** If true, deliveries wait, within their window */
      paused?: boolean;
      /** Ids of the connected sources */
      sources: string[];
      webhooks: ({
        /** Assigned by Waypost. On PATCH: the existing webhook to change */
        id?: string;
        /** http or https, without user info and fragment, at most 2,048 characters */
        url: string;
        /** Static headers, at most 20. Values are write-only: responses contain {"keep": true} instead */
        headers?: Record<string, string | {
          keep: true;
        }>;
      })[];
      /** Signs each request; at least 8 bytes. Write-only */
      sharedSecret?: string;
      /** Message types to deliver. Omit for all */
      types?: ("identify" | "track" | "page" | "screen" | "group" | "alias" | "delete")[];
      /** Condition in CEL over the message, such as type == "track" && properties.total > 100. Only matching messages are delivered */
      filter?: string;
      /** Maximum requests per second to each URL. Omit for no limit */
      maxPerSecond?: number;
      /** Number of shards for its users. Default: 4 */
      shards?: number;
      /** Switch off after failing for this long, such as 5d. 0s: never. Omit to use the value of /alerts */
      switchOffAfter?: string;
    };
    answer: Destination;
  };
  /** Get a destination */
  "GET /destinations/{id}": {
    query: undefined;
    body: undefined;
    answer: Destination;
  };
  /** Update a destination */
  "PATCH /destinations/{id}": {
    query: undefined;
    body: {
      /** Display name */
      name?: string;
      type?: "webhooks";
      enabled?: boolean | null;
      paused?: boolean | null;
      /** Ids of the connected sources */
      sources?: string[];
      webhooks?: ({
        /** Assigned by Waypost. On PATCH: the existing webhook to change */
        id?: string;
        /** http or https, without user info and fragment, at most 2,048 characters */
        url: string;
        /** Static headers, at most 20. Values are write-only: responses contain {"keep": true} instead */
        headers?: Record<string, string | {
          keep: true;
        }>;
      })[];
      sharedSecret?: string | null;
      types?: ("identify" | "track" | "page" | "screen" | "group" | "alias" | "delete")[] | null;
      filter?: string | null;
      maxPerSecond?: number | null;
      shards?: number | null;
      switchOffAfter?: string | null;
    };
    answer: Destination;
  };
  /** Delete a destination and cancel its waiting deliveries */
  "DELETE /destinations/{id}": {
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** Rotate the shared secret of a destination */
  "POST /destinations/{id}/rotate-secret": {
    query: undefined;
    body: {
      /** Signs each request; at least 8 bytes. Write-only */
      sharedSecret?: string;
      /** How long the old one stays valid, such as 0s, 30m, 24h or 7d */
      overlap?: string;
      /** When X-Signature switches to the new secret. Default: at the end of the overlap */
      switchAt?: string;
    };
    answer: RotatedDestination;
  };
  /** Send a test to a destination and wait for its attempt */
  "POST /destinations/{id}/test": {
    query: undefined;
    body: {
      type?: "identify" | "track" | "page" | "screen" | "group" | "alias";
      userId?: string;
      event?: string;
      name?: string;
      groupId?: string;
      previousId?: string;
      properties?: Record<string, unknown>;
      traits?: Record<string, unknown>;
    };
    answer: Test;
  };
  /** Evaluate the filter of a destination on recent events */
  "GET /destinations/{id}/filter": {
    query: undefined;
    body: undefined;
    answer: Trial;
  };
  /** Check a filter and evaluate it on recent events */
  "POST /filters/try": {
    query: undefined;
    body: {
      /** The condition to evaluate */
      filter: string;
      /** Only events of these sources. Omit for all */
      sources?: string[];
      /** Maximum number of accepted events, newest first */
      limit?: number;
    };
    answer: Trial;
  };
  /** Get the alert settings */
  "GET /alerts": {
    query: undefined;
    body: undefined;
    answer: Alerts;
  };
  /** Update the alert settings */
  "PATCH /alerts": {
    query: undefined;
    body: {
      enabled?: boolean | null;
      webhooks?: ({
        /** Assigned by Waypost. On PATCH: the existing webhook to change */
        id?: string;
        /** http or https, without user info and fragment, at most 2,048 characters */
        url: string;
        /** Static headers, at most 20. Values are write-only: responses contain {"keep": true} instead */
        headers?: Record<string, string | {
          keep: true;
        }>;
      })[] | null;
      sharedSecret?: string | null;
      failingFor?: string | null;
      deadLettersEvery?: string | null;
      switchOffAfter?: string | null;
    };
    answer: Alerts;
  };
  /** Rotate the shared secret of alerts */
  "POST /alerts/rotate-secret": {
    query: undefined;
    body: {
      /** Signs each request; at least 8 bytes. Write-only */
      sharedSecret?: string;
      /** How long the old one stays valid, such as 0s, 30m, 24h or 7d */
      overlap?: string;
      /** When X-Signature switches to the new secret. Default: at the end of the overlap */
      switchAt?: string;
    };
    answer: RotatedAlerts;
  };
  /** Send a sample alert and wait for its attempt */
  "POST /alerts/test": {
    query: undefined;
    body: undefined;
    answer: Test;
  };
  /** List audiences */
  "GET /audiences": {
    query: {
      limit?: number;
      /** The `next` of the previous page */
      after?: string;
    };
    body: undefined;
    answer: Audiences;
  };
  /** Create an audience */
  "POST /audiences": {
    query: undefined;
    body: {
      /** Display name */
      name: string;
      /** Ids of the sources whose messages count. Omit for all sources with trust `server` */
      sources?: string[];
      /** Ids of the destinations that receive updates */
      destinations?: string[];
      /** Interval for sending changes to receivers, such as 10s, 1m or 1h */
      syncEvery?: string;
      /** CEL over user.traits and count("Event", duration("720h")), sum, first and last. Omit if members are uploaded */
      condition?: string;
    };
    answer: Audience;
  };
  /** Preview the size and some members of a condition; waits for the first figures */
  "POST /audiences/preview": {
    query: undefined;
    body: {
      /** CEL over user.traits and count("Event", duration("720h")), sum, first and last. Omit if members are uploaded */
      condition: string;
      /** Ids of the sources whose messages count. Omit for all sources with trust `server` */
      sources?: string[];
    };
    answer: Preview;
  };
  /** Get a preview and its progress */
  "GET /audiences/previews/{id}": {
    query: undefined;
    body: undefined;
    answer: Preview;
  };
  /** Cancel a preview */
  "DELETE /audiences/previews/{id}": {
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** Get an audience and its status */
  "GET /audiences/{id}": {
    query: undefined;
    body: undefined;
    answer: Audience;
  };
  /** Update an audience */
  "PATCH /audiences/{id}": {
    query: undefined;
    body: {
      /** Display name */
      name?: string;
      sources?: string[] | null;
      destinations?: string[] | null;
      syncEvery?: string | null;
      condition?: string | null;
    };
    answer: Audience;
  };
  /** Delete an audience and stop its updates to receivers */
  "DELETE /audiences/{id}": {
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** List members, as sent to receivers */
  "GET /audiences/{id}/members": {
    query: {
      limit?: number;
      /** The `next` of the previous page */
      after?: string;
      /** Return only this user, if a member */
      user?: string;
    };
    body: undefined;
    answer: Members;
  };
  /** Replace all members: application/x-ndjson, one user id as JSON per line */
  "PUT /audiences/{id}/members": {
    query: undefined;
    body: undefined;
    answer: UploadedMembers;
  };
  /** Add and remove members: one {"add": "<user id>"} or {"remove": "<user id>"} per line */
  "PATCH /audiences/{id}/members": {
    query: undefined;
    body: undefined;
    answer: UploadedMembers;
  };
  /** List syncs, newest first */
  "GET /audiences/{id}/syncs": {
    query: {
      limit?: number;
      /** The `next` of the previous page */
      after?: string;
    };
    body: undefined;
    answer: Syncs;
  };
  /** Get a time series of the number of members */
  "GET /audiences/{id}/sizes": {
    query: {
      /** Default: 24 hours before the end */
      from?: string;
      /** Default: now */
      to?: string;
    };
    body: undefined;
    answer: Sizes;
  };
  /** List computed traits */
  "GET /computed-traits": {
    query: {
      limit?: number;
      /** The `next` of the previous page */
      after?: string;
    };
    body: undefined;
    answer: ComputedTraits;
  };
  /** Create a computed trait */
  "POST /computed-traits": {
    query: undefined;
    body: {
      /** Display name */
      name: string;
      /** Ids of the sources whose messages count. Omit for all sources with trust `server` */
      sources?: string[];
      /** Ids of the destinations that receive updates */
      destinations?: string[];
      /** Interval for sending changes to receivers, such as 10s, 1m or 1h */
      syncEvery?: string;
      compute: "count" | "sum" | "min" | "max" | "first" | "last" | "most_frequent" | "unique";
      /** The name of a track call */
      event: string;
      /** Property to aggregate, a.b for nested. Omit with first and last to get the event time */
      property?: string;
      /** How far back events count, such as 720h or 30d. Omit for all events */
      window?: string;
    };
    answer: ComputedTrait;
  };
  /** Get a computed trait and its status */
  "GET /computed-traits/{id}": {
    query: undefined;
    body: undefined;
    answer: ComputedTrait;
  };
  /** Update a computed trait */
  "PATCH /computed-traits/{id}": {
    query: undefined;
    body: {
      /** Display name */
      name?: string;
      sources?: string[] | null;
      destinations?: string[] | null;
      syncEvery?: string | null;
      compute?: "count" | "sum" | "min" | "max" | "first" | "last" | "most_frequent" | "unique";
      /** The name of a track call */
      event?: string;
      property?: string | null;
      window?: string | null;
    };
    answer: ComputedTrait;
  };
  /** Delete a computed trait */
  "DELETE /computed-traits/{id}": {
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** List users with a value, as sent to receivers */
  "GET /computed-traits/{id}/members": {
    query: {
      limit?: number;
      /** The `next` of the previous page */
      after?: string;
      /** Return only this user, if a member */
      user?: string;
    };
    body: undefined;
    answer: Members;
  };
  /** List syncs, newest first */
  "GET /computed-traits/{id}/syncs": {
    query: {
      limit?: number;
      /** The `next` of the previous page */
      after?: string;
    };
    body: undefined;
    answer: Syncs;
  };
  /** Get a time series of the number of users with a value */
  "GET /computed-traits/{id}/sizes": {
    query: {
      /** Default: 24 hours before the end */
      from?: string;
      /** Default: now */
      to?: string;
    };
    body: undefined;
    answer: Sizes;
  };
  /** List deliveries, newest first */
  "GET /deliveries": {
    query: {
      destination?: string;
      source?: string;
      status?: "waiting" | "retrying" | "delivered" | "dead" | "cancelled";
      /** The message's id */
      message?: string;
      /** The user's id */
      user?: string;
      type?: "identify" | "track" | "page" | "screen" | "group" | "alias" | "delete";
      /** Accepted at this time or later */
      since?: string;
      /** Accepted before this time */
      until?: string;
      limit?: number;
      /** The `next` of the previous page */
      after?: string;
    };
    body: undefined;
    answer: Deliveries;
  };
  /** Get a delivery with its body, attempts and remaining time */
  "GET /deliveries/{id}": {
    query: undefined;
    body: undefined;
    answer: Delivery;
  };
  /** List recent events, newest first */
  "GET /events": {
    query: {
      source?: string;
      type?: "identify" | "track" | "page" | "screen" | "group" | "alias" | "delete";
      /** userId or anonymousId */
      user?: string;
      /** true: only accepted events; false: only rejected ones */
      accepted?: "true" | "false";
      limit?: number;
      /** The `next` of the previous page */
      after?: string;
    };
    body: undefined;
    answer: Events;
  };
  /** Stream events as Server-Sent Events; resumes with Last-Event-ID */
  "GET /events/stream": {
    query: {
      source?: string;
      type?: "identify" | "track" | "page" | "screen" | "group" | "alias" | "delete";
      /** userId or anonymousId */
      user?: string;
      /** true: only accepted events; false: only rejected ones */
      accepted?: "true" | "false";
    };
    body: undefined;
    answer: Event;
  };
  /** List deletions of users, newest first */
  "GET /deletions": {
    query: {
      limit?: number;
      /** The `next` of the previous page */
      after?: string;
    };
    body: undefined;
    answer: Deletions;
  };
  /** Delete users and visitors: sends a message to each affected source and removes them from the history */
  "POST /deletions": {
    query: undefined;
    body: {
      /** Required without `anonymousIds` */
      userIds?: string[];
      /** Ids of visitors. Removes what they sent without a `userId` */
      anonymousIds?: string[];
      /** Ids of sources. Omit for all */
      sources?: string[];
    };
    answer: Deletion;
  };
  /** Get a deletion */
  "GET /deletions/{id}": {
    query: undefined;
    body: undefined;
    answer: Deletion;
  };
  /** Replay a delivery */
  "POST /deliveries/{id}/replay": {
    query: undefined;
    body: undefined;
    answer: ReplayedDelivery;
  };
  /** List replays, newest first */
  "GET /replays": {
    query: {
      limit?: number;
      /** The `next` of the previous page */
      after?: string;
    };
    body: undefined;
    answer: Replays;
  };
  /** Replay all deliveries in a scope */
  "POST /replays": {
    query: undefined;
    body: {
      destination: string;
      /** Accepted at this time or later. Omit for everything retained */
      from?: string;
      /** Accepted before this time. Default: now */
      to?: string;
      /** Only deliveries with this status in the history */
      status?: "waiting" | "retrying" | "delivered" | "dead" | "cancelled";
      type?: "identify" | "track" | "page" | "screen" | "group" | "alias" | "delete";
      /** dead_letters, or messages: all accepted messages, also from before the destination existed */
      origin?: "dead_letters" | "messages";
      /** Include deliveries that were delivered */
      includeDelivered?: boolean;
      /** Count only; send nothing */
      preview?: boolean;
      maxPerSecond?: number;
    };
    answer: Replay;
  };
  /** Get a replay and its progress */
  "GET /replays/{id}": {
    query: undefined;
    body: undefined;
    answer: Replay;
  };
  /** Cancel a replay */
  "POST /replays/{id}/cancel": {
    query: undefined;
    body: undefined;
    answer: Replay;
  };
  /** Resume a cancelled or failed replay */
  "POST /replays/{id}/resume": {
    query: undefined;
    body: undefined;
    answer: Replay;
  };
  /** List notices, newest first */
  "GET /notices": {
    query: {
      limit?: number;
      /** The `next` of the previous page */
      after?: string;
      destination?: string;
      kind?: "failing" | "recovered" | "dead_letters" | "switched_off";
      /** true: ongoing notices; false: ended ones */
      open?: "true" | "false";
      acknowledged?: "true" | "false";
    };
    body: undefined;
    answer: Notices;
  };
  /** Get a notice */
  "GET /notices/{id}": {
    query: undefined;
    body: undefined;
    answer: Notice;
  };
  /** Acknowledge a notice */
  "POST /notices/{id}/acknowledge": {
    query: undefined;
    body: undefined;
    answer: Notice;
  };
  /** Get the state of each destination and a time series */
  "GET /overview": {
    query: {
      /** Start of the counts. Default: 24 hours ago */
      since?: string;
      /** Limit the series to this destination */
      destination?: string;
    };
    body: undefined;
    answer: Overview;
  };
  /** Get a time series of accepted and rejected calls */
  "GET /overview/calls": {
    query: {
      /** Start of the counts. Default: 24 hours ago */
      since?: string;
    };
    body: undefined;
    answer: Calls;
  };
  /** Get the address that clients send to */
  "GET /about": {
    query: undefined;
    body: undefined;
    answer: About;
  };
  /** Start a browser session */
  "POST /session": {
    query: undefined;
    body: {
      token: string;
    };
    answer: Session;
  };
  /** Get the identity of the caller */
  "GET /session": {
    query: undefined;
    body: undefined;
    answer: Session;
  };
  /** End the session */
  "DELETE /session": {
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** List API tokens */
  "GET /tokens": {
    query: {
      limit?: number;
      /** The `next` of the previous page */
      after?: string;
    };
    body: undefined;
    answer: Tokens;
  };
  /** Create a token. Only this response contains it */
  "POST /tokens": {
    query: undefined;
    body: {
      /** Display name */
      name: string;
      /** admin: everything. operator: operations (pause, switch, test, replay), no secrets. read_only: read access */
      role: "admin" | "operator" | "read_only";
      /** When the token and its sessions expire. Omit for never */
      expiresAt?: string;
      /** Restricts the role: read is GET, write is every other method and does not include read. Omit for all rights of the role */
      rights?: ("about:read" | "about:write" | "alerts:read" | "alerts:write" | "audiences:read" | "audiences:write" | "audit:read" | "audit:write" | "catalog:read" | "catalog:write" | "computed-traits:read" | "computed-traits:write" | "deletions:read" | "deletions:write" | "deliveries:read" | "deliveries:write" | "destinations:read" | "destinations:write" | "events:read" | "events:write" | "filters:read" | "filters:write" | "notices:read" | "notices:write" | "overview:read" | "overview:write" | "replays:read" | "replays:write" | "sources:read" | "sources:write" | "tokens:read" | "tokens:write")[];
    };
    answer: NewToken;
  };
  /** Get a token */
  "GET /tokens/{id}": {
    query: undefined;
    body: undefined;
    answer: Token;
  };
  /** Update a token */
  "PATCH /tokens/{id}": {
    query: undefined;
    body: {
      /** Display name */
      name?: string;
      /** admin: everything. operator: operations (pause, switch, test, replay), no secrets. read_only: read access */
      role?: "admin" | "operator" | "read_only";
      expiresAt?: string | null;
      rights?: ("about:read" | "about:write" | "alerts:read" | "alerts:write" | "audiences:read" | "audiences:write" | "audit:read" | "audit:write" | "catalog:read" | "catalog:write" | "computed-traits:read" | "computed-traits:write" | "deletions:read" | "deletions:write" | "deliveries:read" | "deliveries:write" | "destinations:read" | "destinations:write" | "events:read" | "events:write" | "filters:read" | "filters:write" | "notices:read" | "notices:write" | "overview:read" | "overview:write" | "replays:read" | "replays:write" | "sources:read" | "sources:write" | "tokens:read" | "tokens:write")[] | null;
    };
    answer: Token;
  };
  /** Delete a token and end its sessions */
  "DELETE /tokens/{id}": {
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** List the audit trail, newest first */
  "GET /audit": {
    query: {
      limit?: number;
      /** The `next` of the previous page */
      after?: string;
      kind?: "source" | "destination" | "token" | "audience" | "computed_trait" | "deletion" | "replay" | "delivery" | "notice" | "session";
      /** The entry's id */
      entry?: string;
      /** The id of the token. `admin`: the token in the settings */
      by?: string;
    };
    body: undefined;
    answer: Audit;
  };
}

/** The least role of each operation, and all rights that a token with a list of rights needs. */
export const ACCESS: Readonly<Record<keyof Operations, { role: "none" | Session["role"]; rights: readonly string[] }>> = {
  "GET /openapi.json": { role: "none", rights: [] },
  "GET /catalog": { role: "read_only", rights: ["catalog:read"] },
  "GET /sources": { role: "read_only", rights: ["sources:read"] },
  "POST /sources": { role: "admin", rights: ["sources:write"] },
  "GET /sources/{id}": { role: "read_only", rights: ["sources:read"] },
  "PATCH /sources/{id}": { role: "operator", rights: ["sources:write"] },
  "DELETE /sources/{id}": { role: "admin", rights: ["sources:write"] },
  "GET /sources/{id}/events": { role: "read_only", rights: ["sources:read"] },
  "POST /sources/{id}/rotate-key": { role: "admin", rights: ["sources:write"] },
  "GET /destinations": { role: "read_only", rights: ["destinations:read"] },
  "POST /destinations": { role: "admin", rights: ["destinations:write"] },
  "GET /destinations/{id}": { role: "read_only", rights: ["destinations:read"] },
  "PATCH /destinations/{id}": { role: "operator", rights: ["destinations:write"] },
  "DELETE /destinations/{id}": { role: "admin", rights: ["destinations:write"] },
  "POST /destinations/{id}/rotate-secret": { role: "admin", rights: ["destinations:write"] },
  "POST /destinations/{id}/test": { role: "operator", rights: ["destinations:write"] },
  "GET /destinations/{id}/filter": { role: "read_only", rights: ["destinations:read","events:read"] },
  "POST /filters/try": { role: "read_only", rights: ["filters:write","events:read"] },
  "GET /alerts": { role: "read_only", rights: ["alerts:read"] },
  "PATCH /alerts": { role: "admin", rights: ["alerts:write"] },
  "POST /alerts/rotate-secret": { role: "admin", rights: ["alerts:write"] },
  "POST /alerts/test": { role: "operator", rights: ["alerts:write"] },
  "GET /audiences": { role: "read_only", rights: ["audiences:read"] },
  "POST /audiences": { role: "admin", rights: ["audiences:write"] },
  "POST /audiences/preview": { role: "read_only", rights: ["audiences:write","audiences:read"] },
  "GET /audiences/previews/{id}": { role: "read_only", rights: ["audiences:read"] },
  "DELETE /audiences/previews/{id}": { role: "read_only", rights: ["audiences:write"] },
  "GET /audiences/{id}": { role: "read_only", rights: ["audiences:read"] },
  "PATCH /audiences/{id}": { role: "operator", rights: ["audiences:write"] },
  "DELETE /audiences/{id}": { role: "admin", rights: ["audiences:write"] },
  "GET /audiences/{id}/members": { role: "read_only", rights: ["audiences:read"] },
  "PUT /audiences/{id}/members": { role: "operator", rights: ["audiences:write"] },
  "PATCH /audiences/{id}/members": { role: "operator", rights: ["audiences:write"] },
  "GET /audiences/{id}/syncs": { role: "read_only", rights: ["audiences:read"] },
  "GET /audiences/{id}/sizes": { role: "read_only", rights: ["audiences:read"] },
  "GET /computed-traits": { role: "read_only", rights: ["computed-traits:read"] },
  "POST /computed-traits": { role: "admin", rights: ["computed-traits:write"] },
  "GET /computed-traits/{id}": { role: "read_only", rights: ["computed-traits:read"] },
  "PATCH /computed-traits/{id}": { role: "operator", rights: ["computed-traits:write"] },
  "DELETE /computed-traits/{id}": { role: "admin", rights: ["computed-traits:write"] },
  "GET /computed-traits/{id}/members": { role: "read_only", rights: ["computed-traits:read"] },
  "GET /computed-traits/{id}/syncs": { role: "read_only", rights: ["computed-traits:read"] },
  "GET /computed-traits/{id}/sizes": { role: "read_only", rights: ["computed-traits:read"] },
  "GET /deliveries": { role: "read_only", rights: ["deliveries:read"] },
  "GET /deliveries/{id}": { role: "read_only", rights: ["deliveries:read"] },
  "GET /events": { role: "read_only", rights: ["events:read"] },
  "GET /events/stream": { role: "read_only", rights: ["events:read"] },
  "GET /deletions": { role: "admin", rights: ["deletions:read"] },
  "POST /deletions": { role: "admin", rights: ["deletions:write"] },
  "GET /deletions/{id}": { role: "admin", rights: ["deletions:read"] },
  "POST /deliveries/{id}/replay": { role: "operator", rights: ["deliveries:write"] },
  "GET /replays": { role: "read_only", rights: ["replays:read"] },
  "POST /replays": { role: "operator", rights: ["replays:write"] },
  "GET /replays/{id}": { role: "read_only", rights: ["replays:read"] },
  "POST /replays/{id}/cancel": { role: "operator", rights: ["replays:write"] },
  "POST /replays/{id}/resume": { role: "operator", rights: ["replays:write"] },
  "GET /notices": { role: "read_only", rights: ["notices:read"] },
  "GET /notices/{id}": { role: "read_only", rights: ["notices:read"] },
  "POST /notices/{id}/acknowledge": { role: "operator", rights: ["notices:write"] },
  "GET /overview": { role: "read_only", rights: ["overview:read"] },
  "GET /overview/calls": { role: "read_only", rights: ["overview:read"] },
  "GET /about": { role: "read_only", rights: ["about:read"] },
  "POST /session": { role: "none", rights: [] },
  "GET /session": { role: "read_only", rights: [] },
  "DELETE /session": { role: "read_only", rights: [] },
  "GET /tokens": { role: "admin", rights: ["tokens:read"] },
  "POST /tokens": { role: "admin", rights: ["tokens:write"] },
  "GET /tokens/{id}": { role: "admin", rights: ["tokens:read"] },
  "PATCH /tokens/{id}": { role: "admin", rights: ["tokens:write"] },
  "DELETE /tokens/{id}": { role: "admin", rights: ["tokens:write"] },
  "GET /audit": { role: "admin", rights: ["audit:read"] },
};
