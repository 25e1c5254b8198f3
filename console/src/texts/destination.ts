import { type ReactNode } from 'react';
import { type DestinationField, type FormName } from '../../../shared/model/destination-fields';
import { counted } from './counts';
import { nodes } from './nodes';

interface FieldText {
  name: string;
  unset?: string;
}

type FieldTexts = Record<
  Exclude<DestinationField, 'type' | 'sharedSecret'> | 'hasSharedSecret',
  FieldText
> &
  Record<Exclude<FormName, 'types' | 'filter'>, FieldText & { label: string; hint: string }>;

/** Texts of the parts of a destination's page. */
export const destination = {
  standing: {
    since: (state: string, at: ReactNode) => nodes`${state} since ${at}`,
    failingSince: (state: string, at: ReactNode, cause: string) =>
      nodes`${state} since ${at}: ${cause}`,
  },
  header: {
    unsigned: 'unsigned',
    more: 'More actions',
    test: 'Send a test',
    testOf: (name: string) => `Send a test to ${name}`,
    enable: 'Enable',
    resume: 'Resume',
    pause: 'Pause',
    disable: 'Disable',
    delete: 'Delete',
    replay: 'Replay',
    replayDead: (dead: string) => `Replay ${dead} dead`,
    rotateSecret: 'Rotate the secret',
    paused: 'Paused',
    enabled: 'Enabled',
    disabled: 'Disabled',
    changeTask: 'change it',
    disableQuestion: 'Disable this destination?',
    disableHint: (waiting: string) =>
      `${waiting} To hold deliveries instead, pause the destination.`,
    waitingCancelled: 'Its waiting deliveries are cancelled.',
    noneWaits: 'No delivery waits there now.',
    waitingMessages: (n: number) => counted(n, 'waiting message'),
    willBeCancelled: (waiting: string) => `${waiting} will be cancelled.`,
    deletionHint: (waiting: string) => `${waiting} Past deliveries stay visible.`,
    keepWaiting: 'Keep waiting',
    sendAllNow: 'Send all now',
    sendAllQuestion: (many: string) => `Send ${many} now?`,
    sendAllHint:
      'They are sent slowly at first, and then as fast as the endpoint responds. Its limit ' +
      'per second holds. The ones that fail continue their plan.',
    cancelAllWaiting: 'Cancel all waiting',
    cancelAllQuestion: (many: string) => `Cancel ${many}?`,
    cancelAllHint: 'They end without another attempt. You can replay them later.',
    changeAllTask: 'change them',
  },
  attemptText: {
    selfSigned: 'the certificate is self-signed',
    expired: 'the certificate has expired',
    otherHostName: 'the certificate is for another host name',
    noRedirects: 'Waypost does not follow redirects',
    during: (code: string, phase: string) => `${code} during ${phase}`,
    mayBeAllowed: '. WAYPOST_ALLOWED_NETWORKS can allow its network',
    accepted: (n: number, of: number) => `${n} of ${of} ${of === 1 ? 'URL' : 'URLs'} accepted it.`,
  },
  notCalled: (urls: string) =>
    'Not called, because it rejected the event earlier or was held back when another URL ' +
    `accepted it: ${urls}`,
  removedUrl: 'a URL that was removed',
  unreadableUrl: 'a URL that this installation cannot decrypt',
  attempt: {
    http: (status: number) => `HTTP ${status}`,
    resent: 'A kept connection had broken. The request was sent again over a new one.',
    odd: (kinds: readonly string[]) =>
      `The status counts, although ${kinds.map(oddInWords).join(', and ')}.`,
    request: 'Request',
    changedHeaders: (changedHeaders: string) =>
      `The destination has other values today for: ${changedHeaders}`,
    notStored: (name: string) => `${name}: (not stored)`,
    onlySignature: 'With the other headers of the destination, which are under Settings.',
    requestHeadersCode: 'request headers',
    copyAsCurl: 'Copy as curl',
    notRetried: 'It is not retried, because another URL accepted the delivery.',
    response: 'Response',
    noResponse: 'There was no response.',
    noBody: 'It had no body.',
    responseHeaders: 'response headers',
    responseCode: 'response',
    asSent: 'As it was sent',
    truncated: 'Response truncated',
    responseNotStored:
      'The response was not stored: the destination had sent more than Waypost stores.',
    bodyExpired: 'Body expired: Kafka no longer has it.',
    body: 'body',
  },
  batchView: {
    summary: (index: number, size: number, id: string) =>
      `Event ${index} of ${size} in batch ${id}`,
    theEvents: 'the events of the batch',
    eventsOf: (id: string) => `Events of batch ${id}`,
    thisDelivery: (title: string) => `${title} (this delivery)`,
    eventNamed: (index: number, title: string) => `Event ${index} of the batch: ${title}`,
    http: (status: number) => `HTTP ${status}`,
    known: (n: number, size: number) => `The history knows ${n} of ${size} events.`,
    showInList: 'Show them in the list of deliveries',
  },
  /** `unset`: instead of a value; `label` and `hint` are in the form */
  fields: {
    name: { name: 'Name' },
    sources: { name: 'Sources' },
    webhooks: { name: 'URLs, headers and authentication' },
    signature: { name: 'Signatures' },
    types: { name: 'Types', unset: 'all' },
    filter: { name: 'Filter', unset: 'none' },
    request: { name: 'Request', unset: 'default' },
    maxPerSecond: {
      name: 'Rate limit',
      unset: 'no limit',
      label: 'Rate limit',
      hint: 'Requests per second, to each URL. Leave empty for no limit',
    },
    shards: { name: 'Shards' },
    batch: { name: 'Events per request', unset: 'one' },
    switchOffAfter: {
      name: 'Disabled after failing for',
      unset: 'not set',
      label: 'Disable after failing for',
      hint: 'Such as 5d. Cancels waiting deliveries. 0s: never. Leave empty for the setting of the alerts',
    },
    retry: { name: 'Retry plan', unset: 'as the settings say' },
    proxy: { name: 'Proxy', unset: 'as the settings say' },
    enabled: { name: 'Enabled' },
    paused: { name: 'Paused' },
    hasSharedSecret: { name: 'Secret' },
  } satisfies FieldTexts,
  plainDraft: {
    chooseOne: 'Choose at least one',
    numberProblem: (least: string, most: string) => `Enter a number from ${least} to ${most}`,
    durationProblem: 'Enter a duration such as 90s, 30m, 12h or 5d',
  },
  conflict: {
    alertFields: {
      enabled: 'Alerts are sent',
      webhooks: 'URLs, headers and authentication',
      email: 'E-mail addresses',
      failingFor: 'Failing after',
      deadLettersEvery: 'Dead-letter alerts at most every',
      switchOffAfter: 'Disabled after failing for',
      hasSharedSecret: 'Secret',
    },
    definitionFields: {
      name: 'Name',
      sources: 'Sources',
      destinations: 'Destinations',
      syncEvery: 'Sync interval',
    },
    condition: 'Condition',
    value: 'Value',
    event: 'Event',
    property: 'Property',
    withinLast: 'Within the last',
    unset: {
      sources: 'all',
      trust: 'a server',
      window: 'ever',
    },
    newOne: 'a new one',
    unreadable: 'unreadable',
    none: 'none',
    yes: 'yes',
    no: 'no',
    isSet: 'set',
    trust: {
      server: 'a server',
      browser: 'a page or an app',
    },
  },
  health: {
    health: 'Health',
    theHealth: 'the health',
    overTime: 'Over time',
    lastError: (cause: ReactNode, when: ReactNode) => nodes`Last error: ${cause}, ${when}.`,
    successRate: 'Success rate',
    noAttempts: 'no attempts',
    latency: 'p95 to delivery',
    percentiles: (p50: string, p99: string) => `p50 ${p50}, p99 ${p99}`,
    perMinute: (rate: string) => `${rate} delivered a minute`,
    waitingNow: 'Waiting now',
    none: 'nothing waits',
    oldestFrom: (when: ReactNode) => nodes`the oldest came ${when}`,
    dead: 'Dead',
    noneDead: 'no dead letters',
    replayHint: 'a replay sends them again',
    attempts: (n: number) => counted(n, 'attempt'),
    last: (n: string) => `Last ${n}`,
    lastAttempts: 'Last attempts',
    when: 'When',
    result: 'Result',
    message: 'Message',
    attempt: 'Attempt',
    response: 'Response',
    took: 'Took',
  },
  preview: {
    previewEvent: 'Preview with an event',
    preview: 'Preview',
    previewWith: 'Preview with',
    previewWithHint: 'Nothing is sent',
    aSample: 'a sample',
    renderTask: 'render the request',
    notRendered: (problem: ReactNode) => nodes`The request cannot be rendered: ${problem}`,
    previewedRequest: 'previewed request',
    previewedBody: 'previewed body',
  },
  publicKeys: {
    theKeys: 'the public keys',
    publicKey: 'public key',
    publicKeyNumber: (i: number) => `public key ${i}`,
    created: (when: ReactNode) => nodes`Created ${when}`,
    signsUntil: (when: ReactNode) => nodes`; signs until ${when}`,
    rotated: 'Rotated',
    rotate: 'Rotate the Ed25519 key',
    rotateQuestion: 'Rotate the Ed25519 key?',
    rotateHint:
      'Both keys sign until the overlap ends, so that receivers have time to read the new ' +
      'public key.',
    overlap: 'Overlap',
    overlapHint: 'Such as 0s, 30m, 24h or 7d',
    rotateTask: 'rotate the key',
  },
  rotateSecret: {
    rotateSecret: 'Rotate the secret',
    bothSignUntil: (when: ReactNode) => nodes`Both secrets sign until ${when}`,
    shownOnlyOnce: 'Shown only once',
    copyNow: 'Copy it to the receiver now. You cannot see it again after you close this dialog.',
    newSecret: 'new secret',
    done: 'Done, I copied it',
    rotateHint:
      'Waypost creates a new secret. Until the overlap ends, both secrets sign each ' +
      'request, so that receivers have time to switch.',
    inProgress: (when: ReactNode) => nodes`A rotation is in progress. It ends ${when}.`,
    overlap: 'Overlap',
    overlapHint: 'Such as 0s, 30m, 24h or 7d',
    rotateTask: 'rotate the secret',
    rotate: 'Rotate',
  },
  save: {
    conflict: 'Someone else changed this while you were editing',
    conflictHint: 'Your changes are not saved yet. Their changes are kept.',
    changes: 'Changes',
    field: 'Field',
    before: 'Before',
    nowTheirs: 'Now (theirs)',
    yours: 'Yours',
    keepMine: 'Keep my changes, keep their other changes',
    keepBoth: 'Keep both changes',
    discardMine: 'Discard my changes',
    save: 'Save',
    unsavedChanges: 'Unsaved changes',
    noUnsavedChanges: 'No unsaved changes',
    unchanged: 'unchanged',
  },
  testSend: {
    sample: 'Sample',
    sendTest: 'Send a test',
    sendTask: 'send the test',
    testDelivered: 'Test delivered',
    testFailed: 'Test failed',
    sentTest: 'What was sent',
    someFailed: 'Messages count as delivered, and Waypost does not retry the URLs that failed.',
  },
  testAdvice: {
    because: (cause: string) => `Why: ${cause}.`,
    unsigned:
      'The test was not signed, because the destination has no secret: a receiver that checks ' +
      'signatures refuses it. Set a secret.',
    refusesSender:
      'It refuses the sender. Check that the receiver has exactly the secret of this ' +
      'destination, and that the authentication is right.',
    wrongPath: 'Nothing takes such requests there. Check the path of the URL, and the method.',
    asksForTime: 'It asks for time. Real events would be sent again later.',
    redirects: 'It redirects, which Waypost does not follow. Enter the address that it names.',
    refusesContent:
      'It refuses the content, and its response below may say why. Real events would not be retried.',
    failsItself:
      'It failed itself, and its response below or its log may say why. Real events would be retried.',
    onCode: {
      connection:
        'Check that it runs, and that Waypost reaches it: localhost is the machine of Waypost, ' +
        'not yours.',
      dns: 'Check how the host is spelled, and that Waypost can look it up.',
      timeout: 'It must answer 2xx before the timeout. Let it do long work after the answer.',
      tls: 'Check its certificate. Authorities of your own belong under TLS.',
      forbidden_address:
        'Waypost calls no internal addresses. WAYPOST_ALLOWED_NETWORKS can allow its network.',
      invalid_url: 'Enter another URL.',
      proxy: 'Check the proxy of the destination.',
      token: 'Check the token URL, the client id and the client secret.',
    },
  },
};

const ODD: Readonly<Record<string, string>> = {
  interim: 'the endpoint sent a 100 Continue that nobody had asked for',
  header_syntax: 'HTTP does not allow one of its headers',
  header_size: 'it has more headers than Waypost reads',
  content_length: 'its Content-Length is wrong, doubled, or contradicts another header',
  chunk_syntax: 'the chunks of its body cannot be read',
  framing_size: 'it has more chunk extensions or trailers than Waypost reads',
  body_cut: 'its body broke off, or did not end in time',
  extra_bytes: 'more bytes followed its end',
  body_unreadable: 'its body is not what its headers say, so that it may name failed events unseen',
};

function oddInWords(kind: string): string {
  return ODD[kind] ?? kind;
}
