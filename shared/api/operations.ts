/** Generated from the OpenAPI document by `npm run generate`: change services/control/operations.ts instead. */

export type Source = {
  id: string;
  name: string;
  enabled: boolean;
  writeKey: string | null;
  /** Names of track events that go no further */
  blockedEvents: string[];
  /** null: the defaults, as a null within */
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
    /** Names of track events that go no further */
    blockedEvents: string[];
    /** null: the defaults, as a null within */
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
    /** Since it was first counted; 0 where it is blocked and was never seen */
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
  /** The trait that receivers see */
  key: string;
  /** The source that it is told by */
  source: string;
  sources: string[] | null;
  destinations: string[];
  syncEvery: string;
  status: {
    phase: "none" | "counting" | "first_sync" | "live";
    /** As receivers were told; of a computed trait users with a value */
    members: number;
    /** Profiles that the first sync has looked at */
    counted: number;
    /** All profiles */
    of: number;
    /** Of them, full ones: some of what their users do no longer counts */
    full: number;
    sent: number;
    waiting: number;
    /** The last upload that all partitions have taken over */
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
  /** null: members are uploaded */
  condition: string | null;
};

export type Audiences = {
  data: ({
    id: string;
    name: string;
    /** The trait that receivers see */
    key: string;
    /** The source that it is told by */
    source: string;
    sources: string[] | null;
    destinations: string[];
    syncEvery: string;
    status: {
      phase: "none" | "counting" | "first_sync" | "live";
      /** As receivers were told; of a computed trait users with a value */
      members: number;
      /** Profiles that the first sync has looked at */
      counted: number;
      /** All profiles */
      of: number;
      /** Of them, full ones: some of what their users do no longer counts */
      full: number;
      sent: number;
      waiting: number;
      /** The last upload that all partitions have taken over */
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
    /** null: members are uploaded */
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
    /** The trait's value; of an audience true */
    value: unknown;
    /** When receivers were told of this value */
    since: string;
  })[];
  next: string | null;
};

export type Preview = {
  id: string;
  phase: "counting" | "done" | "failed";
  /** How many there would be; an estimate unless `exact` */
  members: number;
  /** Profiles looked at */
  looked: number;
  /** Of how many that are to be looked at: all, or a sample */
  of: number;
  exact: boolean;
  /** Half the width of the 95 % interval of `members`; 0 where it is exact */
  plusMinus: number;
  /** Of those looked at, whose condition failed: no members */
  failed: number;
  /** Some who would be in, with some of their traits: 10 at most */
  sample: ({
    userId: string;
    traits: Record<string, unknown>;
  })[];
  /** What it waits for, why it failed, or what it could not count */
  detail: string | null;
  /** Ended then, or a minute after it was last asked for */
  expiresAt: string;
};

export type Syncs = {
  data: ({
    at: string;
    members: number;
    /** Users who were looked at, since something had changed of them */
    looked: number;
    /** Calls that it made */
    changed: number;
    /** Calls sent since the beginning, as of then */
    sent: number;
    /** Calls that Kafka had not acknowledged */
    waiting: number;
  })[];
  next: string | null;
};

export type Sizes = {
  /** The oldest first */
  data: ({
    at: string;
    members: number;
  })[];
};

export type ComputedTrait = {
  id: string;
  name: string;
  /** The trait that receivers see */
  key: string;
  /** The source that it is told by */
  source: string;
  sources: string[] | null;
  destinations: string[];
  syncEvery: string;
  status: {
    phase: "none" | "counting" | "first_sync" | "live";
    /** As receivers were told; of a computed trait users with a value */
    members: number;
    /** Profiles that the first sync has looked at */
    counted: number;
    /** All profiles */
    of: number;
    /** Of them, full ones: some of what their users do no longer counts */
    full: number;
    sent: number;
    waiting: number;
    /** The last upload that all partitions have taken over */
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
    /** The trait that receivers see */
    key: string;
    /** The source that it is told by */
    source: string;
    sources: string[] | null;
    destinations: string[];
    syncEvery: string;
    status: {
      phase: "none" | "counting" | "first_sync" | "live";
      /** As receivers were told; of a computed trait users with a value */
      members: number;
      /** Profiles that the first sync has looked at */
      counted: number;
      /** All profiles */
      of: number;
      /** Of them, full ones: some of what their users do no longer counts */
      full: number;
      sent: number;
      waiting: number;
      /** The last upload that all partitions have taken over */
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
  /** Where it was made here: shown this once */
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
      /** ms by phase; what took none is left out */
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
    /** Why it waits or ended */
    reason: string | null;
    acceptedAt: string;
    expiresAt: string;
    nextAttemptAt: string | null;
    /** When it was delivered, given up or cancelled */
    settledAt: string | null;
    /** How many times it was sent anew */
    replay: number;
    /** Since it was sent, or sent anew */
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
        /** ms by phase; what took none is left out */
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
        /** The whole URL as it is now; null where unknown */
        address?: string | null;
        /** Rebuilt from the destination as it stands now, not kept; what is secret, or of that moment alone, is *** */
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
  /** Why it waits or ended */
  reason: string | null;
  acceptedAt: string;
  expiresAt: string;
  nextAttemptAt: string | null;
  /** When it was delivered, given up or cancelled */
  settledAt: string | null;
  /** How many times it was sent anew */
  replay: number;
  /** Since it was sent, or sent anew */
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
      /** ms by phase; what took none is left out */
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
      /** The whole URL as it is now; null where unknown */
      address?: string | null;
      /** Rebuilt from the destination as it stands now, not kept; what is secret, or of that moment alone, is *** */
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
  /** The JSON that is POSTed; null where Kafka no longer has it */
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
    /** Why it was rejected, for programs */
    code?: string;
    /** The same for people */
    message?: string;
    /** Where an accepted one goes, or why not: by the configuration as it is now */
    destinations?: ({
      destination: string;
      name: string;
      outcome: "routed" | "source_off" | "blocked" | "excluded" | "off" | "not_connected" | "type" | "filtered" | "filter_failed";
      /** Why its filter failed */
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
  /** Why it was rejected, for programs */
  code?: string;
  /** The same for people */
  message?: string;
  /** Where an accepted one goes, or why not: by the configuration as it is now */
  destinations?: ({
    destination: string;
    name: string;
    outcome: "routed" | "source_off" | "blocked" | "excluded" | "off" | "not_connected" | "type" | "filtered" | "filter_failed";
    /** Why its filter failed */
    reason?: string;
  })[];
};

export type Trial = {
  /** What is wrong with the filter, and where; null: nothing */
  mistake: {
    message: string;
    offset: number;
    line: number;
    column: number;
  } | null;
  tried: number;
  matched: number;
  /** How many it could not be evaluated for: they do not match */
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
  /** How many `anonymousIds` were deleted */
  visitors: number;
  /** In a list the first 20 */
  userIds: string[];
  /** The same */
  anonymousIds: string[];
  /** null: all */
  sources: string[] | null;
  /** The sources that messages were sent for */
  affected: string[];
  messages: number;
};

export type Deletions = {
  data: ({
    id: string;
    at: string;
    users: number;
    /** How many `anonymousIds` were deleted */
    visitors: number;
    /** In a list the first 20 */
    userIds: string[];
    /** The same */
    anonymousIds: string[];
    /** null: all */
    sources: string[] | null;
    /** The sources that messages were sent for */
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
  /** Of the present pass, 0 to 1 */
  progress: number;
  error: string | null;
  /** history: begins when the history has read what had happened when the replay was asked for */
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
    /** Of the present pass, 0 to 1 */
    progress: number;
    error: string | null;
    /** history: begins when the history has read what had happened when the replay was asked for */
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
  /** Where it was made here: shown this once */
  sharedSecret?: string;
};

export type Notice = {
  id: string;
  at: string;
  destination: string;
  /** The destination's, at that time */
  name: string;
  kind: "failing" | "recovered" | "dead_letters" | "switched_off";
  since: string;
  /** null: it goes on */
  endedAt: string | null;
  failures: number;
  deadLetters: number;
  /** The last failure */
  error: string | null;
  /** due: still to be sent; none: nobody is told */
  alert: "none" | "due" | "sent";
  /** The delivery that tells of it */
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
    /** The destination's, at that time */
    name: string;
    kind: "failing" | "recovered" | "dead_letters" | "switched_off";
    since: string;
    /** null: it goes on */
    endedAt: string | null;
    failures: number;
    deadLetters: number;
    /** The last failure */
    error: string | null;
    /** due: still to be sent; none: nobody is told */
    alert: "none" | "due" | "sent";
    /** The delivery that tells of it */
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
  /** null: all rights of its role */
  rights: ("about:read" | "about:write" | "alerts:read" | "alerts:write" | "audiences:read" | "audiences:write" | "audit:read" | "audit:write" | "catalog:read" | "catalog:write" | "computed-traits:read" | "computed-traits:write" | "deletions:read" | "deletions:write" | "deliveries:read" | "deliveries:write" | "destinations:read" | "destinations:write" | "events:read" | "events:write" | "filters:read" | "filters:write" | "notices:read" | "notices:write" | "overview:read" | "overview:write" | "replays:read" | "replays:write" | "sources:read" | "sources:write" | "tokens:read" | "tokens:write")[] | null;
  /** null: it does not expire */
  expiresAt: string | null;
  /** To the minute; null: not known */
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
    /** null: all rights of its role */
    rights: ("about:read" | "about:write" | "alerts:read" | "alerts:write" | "audiences:read" | "audiences:write" | "audit:read" | "audit:write" | "catalog:read" | "catalog:write" | "computed-traits:read" | "computed-traits:write" | "deletions:read" | "deletions:write" | "deliveries:read" | "deliveries:write" | "destinations:read" | "destinations:write" | "events:read" | "events:write" | "filters:read" | "filters:write" | "notices:read" | "notices:write" | "overview:read" | "overview:write" | "replays:read" | "replays:write" | "sources:read" | "sources:write" | "tokens:read" | "tokens:write")[] | null;
    /** null: it does not expire */
    expiresAt: string | null;
    /** To the minute; null: not known */
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
  /** null: all rights of its role */
  rights: ("about:read" | "about:write" | "alerts:read" | "alerts:write" | "audiences:read" | "audiences:write" | "audit:read" | "audit:write" | "catalog:read" | "catalog:write" | "computed-traits:read" | "computed-traits:write" | "deletions:read" | "deletions:write" | "deliveries:read" | "deliveries:write" | "destinations:read" | "destinations:write" | "events:read" | "events:write" | "filters:read" | "filters:write" | "notices:read" | "notices:write" | "overview:read" | "overview:write" | "replays:read" | "replays:write" | "sources:read" | "sources:write" | "tokens:read" | "tokens:write")[] | null;
  /** null: it does not expire */
  expiresAt: string | null;
  /** To the minute; null: not known */
  lastUsedAt: string | null;
  /** Shown this once */
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
    /** That the change made; null where nothing of the configuration changed */
    version: number | null;
    /** What is secret reads *** */
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
    /** null: before what is kept of them */
    rejected: number | null;
    /** Requests answered 429; null: before what is kept of them */
    limited: number | null;
  })[];
  /** Requests answered 429 since then, by the id of their source; a source without any is left out */
  limitedBySource: Record<string, number>;
};

export type About = {
  ingest: {
    /** Where clients reach ingest (WAYPOST_INGEST_URL), if it was set */
    url: string | null;
    /** Else: the port it listens on */
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
  /** Get the OpenAPI document */
  "GET /openapi.json": {
    query: undefined;
    body: undefined;
    answer: OpenApi;
  };
  /** List the integrations with their settings as JSON Schema */
  "GET /catalog": {
    query: undefined;
    body: undefined;
    answer: Catalog;
  };
  /** List sources */
  "GET /sources": {
    query: {
      limit?: number;
      /** The `next` of the page before */
      after?: string;
    };
    body: undefined;
    answer: Sources;
  };
  /** Create a source */
  "POST /sources": {
    query: undefined;
    body: {
      /** For people */
      name: string;
      /** Off: its calls are refused */
      enabled?: boolean;
      /** Names of track events that go no further. They count as received */
      blockedEvents?: string[];
      limits?: {
        /** Calls a second */
        maxPerSecond?: number | null;
        /** Bytes of request bodies a second, after decompression */
        maxBytesPerSecond?: number | null;
        /** How much of both rates a quiet source saves up, such as 10s */
        burst?: string | null;
      } | null;
      /** browser: the write key is public, and audiences trust its calls less */
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
      /** For people */
      name?: string;
      enabled?: boolean | null;
      blockedEvents?: string[] | null;
      limits?: {
        /** Calls a second */
        maxPerSecond?: number | null;
        /** Bytes of request bodies a second, after decompression */
        maxBytesPerSecond?: number | null;
        /** How much of both rates a quiet source saves up, such as 10s */
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
  /** List the track events of a source by name, latest first */
  "GET /sources/{id}/events": {
    query: undefined;
    body: undefined;
    answer: SourceEvents;
  };
  /** Rotate the write key */
  "POST /sources/{id}/rotate-key": {
    query: undefined;
    body: {
      /** How long the old one still holds, such as 0s, 30m, 24h or 7d */
      overlap?: string;
    };
    answer: Source;
  };
  /** List destinations */
  "GET /destinations": {
    query: {
      limit?: number;
      /** The `next` of the page before */
      after?: string;
    };
    body: undefined;
    answer: Destinations;
  };
  /** Create a destination */
  "POST /destinations": {
    query: undefined;
    body: {
      /** For people */
      name: string;
      type: "webhooks";
      /** Off: gets nothing, and what waits is cancelled */
      enabled?: boolean;
      /** On hold: what comes waits, within its window */
      paused?: boolean;
      /** Ids of the sources that it is connected to */
      sources: string[];
      webhooks: ({
        /** On PATCH: the webhook that this was. Given by Waypost */
        id?: string;
        /** http or https, without user info and fragment, at most 2,048 characters */
        url: string;
        /** Static headers, at most 20. Values are write-only: reads show {"keep": true} in their place */
        headers?: Record<string, string | {
          keep: true;
        }>;
      })[];
      /** Signs each request; at least 8 bytes. Write-only */
      sharedSecret?: string;
      /** The types that it wants; absent: all */
      types?: ("identify" | "track" | "page" | "screen" | "group" | "alias" | "delete")[];
      /** A condition in CEL over the message, such as type == "track" && properties.total > 100: what does not match goes no further */
      filter?: string;
      /** At most so many requests a second to each URL; absent: no limit */
      maxPerSecond?: number;
      /** Over how many shards its users are spread; absent: 4 */
      shards?: number;
      /** Switched off after failing for so long, such as 5d; 0s: never; absent: as /alerts says */
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
      /** For people */
      name?: string;
      type?: "webhooks";
      enabled?: boolean | null;
      paused?: boolean | null;
      /** Ids of the sources that it is connected to */
      sources?: string[];
      webhooks?: ({
        /** On PATCH: the webhook that this was. Given by Waypost */
        id?: string;
        /** http or https, without user info and fragment, at most 2,048 characters */
        url: string;
        /** Static headers, at most 20. Values are write-only: reads show {"keep": true} in their place */
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
  /** Rotate the shared secret */
  "POST /destinations/{id}/rotate-secret": {
    query: undefined;
    body: {
      /** Signs each request; at least 8 bytes. Write-only */
      sharedSecret?: string;
      /** How long the old one still holds, such as 0s, 30m, 24h or 7d */
      overlap?: string;
      /** When X-Signature changes; absent: at the end of the overlap */
      switchAt?: string;
    };
    answer: RotatedDestination;
  };
  /** Send a test and wait for its attempt */
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
  /** Try the stored filter on recent events of its sources */
  "GET /destinations/{id}/filter": {
    query: undefined;
    body: undefined;
    answer: Trial;
  };
  /** Check a filter, and try it on recent events */
  "POST /filters/try": {
    query: undefined;
    body: {
      /** The condition to try */
      filter: string;
      /** On events of these alone; absent: of all */
      sources?: string[];
      /** On at most so many of the newest accepted events */
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
        /** On PATCH: the webhook that this was. Given by Waypost */
        id?: string;
        /** http or https, without user info and fragment, at most 2,048 characters */
        url: string;
        /** Static headers, at most 20. Values are write-only: reads show {"keep": true} in their place */
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
  /** Rotate the secret of alerts */
  "POST /alerts/rotate-secret": {
    query: undefined;
    body: {
      /** Signs each request; at least 8 bytes. Write-only */
      sharedSecret?: string;
      /** How long the old one still holds, such as 0s, 30m, 24h or 7d */
      overlap?: string;
      /** When X-Signature changes; absent: at the end of the overlap */
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
      /** The `next` of the page before */
      after?: string;
    };
    body: undefined;
    answer: Audiences;
  };
  /** Create an audience */
  "POST /audiences": {
    query: undefined;
    body: {
      /** For people */
      name: string;
      /** Ids of the sources whose messages count; absent: all whose trust is `server` */
      sources?: string[];
      /** Ids of the destinations that are told */
      destinations?: string[];
      /** How often receivers are told of changes, such as 10s, 1m or 1h */
      syncEvery?: string;
      /** CEL over user.traits and count("Event", duration("720h")), sum, first and last; absent: members are uploaded */
      condition?: string;
    };
    answer: Audience;
  };
  /** Preview a condition: its number of members and a sample; waits for the first figures */
  "POST /audiences/preview": {
    query: undefined;
    body: {
      /** CEL over user.traits and count("Event", duration("720h")), sum, first and last; absent: members are uploaded */
      condition: string;
      /** Ids of the sources whose messages count; absent: all whose trust is `server` */
      sources?: string[];
    };
    answer: Preview;
  };
  /** Get the progress of a preview */
  "GET /audiences/previews/{id}": {
    query: undefined;
    body: undefined;
    answer: Preview;
  };
  /** End a preview */
  "DELETE /audiences/previews/{id}": {
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** Get an audience with its progress */
  "GET /audiences/{id}": {
    query: undefined;
    body: undefined;
    answer: Audience;
  };
  /** Update an audience */
  "PATCH /audiences/{id}": {
    query: undefined;
    body: {
      /** For people */
      name?: string;
      sources?: string[] | null;
      destinations?: string[] | null;
      syncEvery?: string | null;
      condition?: string | null;
    };
    answer: Audience;
  };
  /** Delete an audience; receivers get no more calls about it */
  "DELETE /audiences/{id}": {
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** List the members as receivers know them */
  "GET /audiences/{id}/members": {
    query: {
      limit?: number;
      /** The `next` of the page before */
      after?: string;
      /** This one alone, where they are in */
      user?: string;
    };
    body: undefined;
    answer: Members;
  };
  /** Replace the members of a list: one user id in JSON a line */
  "PUT /audiences/{id}/members": {
    query: undefined;
    body: undefined;
    answer: UploadedMembers;
  };
  /** Add and remove members of a list: {"add": "<user id>"} or {"remove": "<user id>"} a line */
  "PATCH /audiences/{id}/members": {
    query: undefined;
    body: undefined;
    answer: UploadedMembers;
  };
  /** List its syncs, newest first */
  "GET /audiences/{id}/syncs": {
    query: {
      limit?: number;
      /** The `next` of the page before */
      after?: string;
    };
    body: undefined;
    answer: Syncs;
  };
  /** Get the number of members over time */
  "GET /audiences/{id}/sizes": {
    query: {
      /** Absent: 24 hours before the end */
      from?: string;
      /** Absent: now */
      to?: string;
    };
    body: undefined;
    answer: Sizes;
  };
  /** List computed traits */
  "GET /computed-traits": {
    query: {
      limit?: number;
      /** The `next` of the page before */
      after?: string;
    };
    body: undefined;
    answer: ComputedTraits;
  };
  /** Create a computed trait */
  "POST /computed-traits": {
    query: undefined;
    body: {
      /** For people */
      name: string;
      /** Ids of the sources whose messages count; absent: all whose trust is `server` */
      sources?: string[];
      /** Ids of the destinations that are told */
      destinations?: string[];
      /** How often receivers are told of changes, such as 10s, 1m or 1h */
      syncEvery?: string;
      compute: "count" | "sum" | "min" | "max" | "first" | "last" | "most_frequent" | "unique";
      /** The name of a track call */
      event: string;
      /** Of the event; a.b is within an object. With first and last absent: the time */
      property?: string;
      /** How far back events count, such as 720h or 30d; absent: all */
      window?: string;
    };
    answer: ComputedTrait;
  };
  /** Get a computed trait with its progress */
  "GET /computed-traits/{id}": {
    query: undefined;
    body: undefined;
    answer: ComputedTrait;
  };
  /** Update a computed trait */
  "PATCH /computed-traits/{id}": {
    query: undefined;
    body: {
      /** For people */
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
  /** List the users with a value as receivers know them */
  "GET /computed-traits/{id}/members": {
    query: {
      limit?: number;
      /** The `next` of the page before */
      after?: string;
      /** This one alone, where they are in */
      user?: string;
    };
    body: undefined;
    answer: Members;
  };
  /** List its syncs, newest first */
  "GET /computed-traits/{id}/syncs": {
    query: {
      limit?: number;
      /** The `next` of the page before */
      after?: string;
    };
    body: undefined;
    answer: Syncs;
  };
  /** Get the number of users with a value over time */
  "GET /computed-traits/{id}/sizes": {
    query: {
      /** Absent: 24 hours before the end */
      from?: string;
      /** Absent: now */
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
      /** The `next` of the page before */
      after?: string;
    };
    body: undefined;
    answer: Deliveries;
  };
  /** Get a delivery with its body, attempts and budget */
  "GET /deliveries/{id}": {
    query: undefined;
    body: undefined;
    answer: Delivery;
  };
  /** List recent events of sources, newest first */
  "GET /events": {
    query: {
      source?: string;
      type?: "identify" | "track" | "page" | "screen" | "group" | "alias" | "delete";
      /** userId or anonymousId */
      user?: string;
      /** false: the rejected ones alone */
      accepted?: "true" | "false";
      limit?: number;
      /** The `next` of the page before */
      after?: string;
    };
    body: undefined;
    answer: Events;
  };
  /** Stream events as Server-Sent Events; Last-Event-ID resumes */
  "GET /events/stream": {
    query: {
      source?: string;
      type?: "identify" | "track" | "page" | "screen" | "group" | "alias" | "delete";
      /** userId or anonymousId */
      user?: string;
      /** false: the rejected ones alone */
      accepted?: "true" | "false";
    };
    body: undefined;
    answer: Event;
  };
  /** List deletions of users, newest first */
  "GET /deletions": {
    query: {
      limit?: number;
      /** The `next` of the page before */
      after?: string;
    };
    body: undefined;
    answer: Deletions;
  };
  /** Delete users and visitors: each affected source sends a delete message, and the history forgets them */
  "POST /deletions": {
    query: undefined;
    body: {
      /** Required where there are no `anonymousIds` */
      userIds?: string[];
      /** Of visitors: what they sent without a `userId` is forgotten */
      anonymousIds?: string[];
      /** Ids of sources; absent: all */
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
      /** The `next` of the page before */
      after?: string;
    };
    body: undefined;
    answer: Replays;
  };
  /** Replay all deliveries within a scope */
  "POST /replays": {
    query: undefined;
    body: {
      destination: string;
      /** Accepted at this time or later; absent: all that is kept */
      from?: string;
      /** Accepted before this time; absent: now */
      to?: string;
      /** Only deliveries that the history knows to be so */
      status?: "waiting" | "retrying" | "delivered" | "dead" | "cancelled";
      type?: "identify" | "track" | "page" | "screen" | "group" | "alias" | "delete";
      /** dead_letters; or messages: all that were accepted, also before the destination was there */
      origin?: "dead_letters" | "messages";
      /** Also what was delivered already */
      includeDelivered?: boolean;
      /** Count, and send nothing */
      preview?: boolean;
      maxPerSecond?: number;
    };
    answer: Replay;
  };
  /** Get a replay with its progress */
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
  /** Resume a cancelled replay */
  "POST /replays/{id}/resume": {
    query: undefined;
    body: undefined;
    answer: Replay;
  };
  /** List notices, newest first */
  "GET /notices": {
    query: {
      limit?: number;
      /** The `next` of the page before */
      after?: string;
      destination?: string;
      kind?: "failing" | "recovered" | "dead_letters" | "switched_off";
      /** true: what goes on; false: what has ended */
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
  /** Get the state of each destination, and counts over time */
  "GET /overview": {
    query: {
      /** Counted from this time on; absent: the last 24 hours */
      since?: string;
      /** The series of this destination alone */
      destination?: string;
    };
    body: undefined;
    answer: Overview;
  };
  /** Get accepted and rejected calls over time */
  "GET /overview/calls": {
    query: {
      /** Counted from this time on; absent: the last 24 hours */
      since?: string;
    };
    body: undefined;
    answer: Calls;
  };
  /** Get the address of ingest */
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
  /** Get the caller of the request */
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
  /** List tokens */
  "GET /tokens": {
    query: {
      limit?: number;
      /** The `next` of the page before */
      after?: string;
    };
    body: undefined;
    answer: Tokens;
  };
  /** Create a token; only this response shows it */
  "POST /tokens": {
    query: undefined;
    body: {
      /** For people */
      name: string;
      /** admin: everything. operator: everything that runs (pause, switch, test, replay), no secrets. read_only: looks */
      role: "admin" | "operator" | "read_only";
      /** When it ends, with the sessions that it began; absent: it does not expire */
      expiresAt?: string;
      /** Narrow the role: read is GET, write is every other method and does not include read. Absent: all rights of the role */
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
      /** For people */
      name?: string;
      /** admin: everything. operator: everything that runs (pause, switch, test, replay), no secrets. read_only: looks */
      role?: "admin" | "operator" | "read_only";
      expiresAt?: string | null;
      rights?: ("about:read" | "about:write" | "alerts:read" | "alerts:write" | "audiences:read" | "audiences:write" | "audit:read" | "audit:write" | "catalog:read" | "catalog:write" | "computed-traits:read" | "computed-traits:write" | "deletions:read" | "deletions:write" | "deliveries:read" | "deliveries:write" | "destinations:read" | "destinations:write" | "events:read" | "events:write" | "filters:read" | "filters:write" | "notices:read" | "notices:write" | "overview:read" | "overview:write" | "replays:read" | "replays:write" | "sources:read" | "sources:write" | "tokens:read" | "tokens:write")[] | null;
    };
    answer: Token;
  };
  /** Delete a token; it gives no more access */
  "DELETE /tokens/{id}": {
    query: undefined;
    body: undefined;
    answer: undefined;
  };
  /** List changes of the configuration and actions, newest first */
  "GET /audit": {
    query: {
      limit?: number;
      /** The `next` of the page before */
      after?: string;
      kind?: "source" | "destination" | "token" | "audience" | "computed_trait" | "deletion" | "replay" | "delivery" | "notice" | "session";
      /** The entry's id */
      entry?: string;
      /** The id of the token; `admin`: that of the settings */
      by?: string;
    };
    body: undefined;
    answer: Audit;
  };
}

/** The least role of each operation, and the rights that a token with a list of rights needs, all of them. */
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
