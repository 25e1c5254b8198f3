import { counted } from './counts';

/** Texts of the parts of a source's page. */
export const source = {
  events: {
    trackEvents: 'Track events',
    events: 'events',
    noEvents: 'No track events yet.',
    event: 'Event',
    seen: 'Seen',
    last: 'Last',
    state: 'State',
    change: 'Change',
    blocked: 'blocked',
    delivered: 'delivered',
    unblock: 'Unblock',
    block: 'Block',
    unblockEvent: (name: string) => `Unblock ${name}`,
    blockEvent: (name: string) => `Block ${name}`,
    blockedHint:
      'A blocked event counts as received and appears in the debugger, but is not delivered.',
    changeTask: 'change it',
  },
  newSource: {
    sender: 'Its calls come from',
    server: 'a server',
    page: 'a page or an app',
    createSource: 'Create source',
    createTask: 'create the source',
  },
  limitsDraft: {
    notANumber: 'Must be a number',
  },
  limits: {
    limitsTrust: 'Limits and trust',
    callsPerSecond: 'Calls per second',
    callsPerSecondHint: 'Leave empty for the default. Calls above it get 429',
    bytesPerSecond: 'Bytes per second',
    bytesPerSecondHint: 'Counts bodies after decompression. Leave empty for the default',
    burst: 'Burst',
    burstHint: 'How much unused allowance a source may accumulate. Leave empty for 10s',
    saveLimits: 'Save the limits',
    saveTask: 'save the limits',
    writeKey: 'Write key',
    writeKeyHint: 'Only servers know a secret key',
    serverSecret: 'server: secret',
    browserPublic: 'browser: public',
    noneExceeded: 'No request exceeded the limits in the last 24 hours.',
    requests: (n: number) => counted(n, 'request'),
    exceeded: (limited: string) =>
      `${limited} exceeded the limits in the last 24 hours and got 429.`,
  },
};
