import { type ReactNode } from 'react';
import { nodes } from './nodes';

/** Texts of the steps that connect an integration. */
export const connect = {
  connect: {
    names: {
      source: 'Source',
      endpoint: 'Endpoint',
      test: 'Test',
      live: 'Go live',
    },
    marks: {
      done: ' (done)',
      failed: ' (failed)',
    },
    connect: 'Connect',
    notAllowed: 'Users who can create destinations can also read the messages sent to them.',
    connectIntegration: 'Connect an integration',
    theDestination: 'destination',
    steps: 'Steps',
  },
  sourceStep: {
    theSources: 'sources',
    hint:
      'A source is where calls come from: a site, an app, a server. Each has a write key of its ' +
      'own.',
    first: 'Your first source',
    which: 'Whose events should arrive?',
    another: 'Or create another source',
    name: 'Name of the source',
    suggestedName: 'My site',
    createFirst: 'Create it and continue',
    sources: 'Sources',
    disabled: (name: string) => `${name} (disabled)`,
    continue: 'Continue',
    chooseOne: 'Choose or create a source to continue.',
    saveAndTest: 'Save and test',
    saveTask: 'save the sources',
  },
  /** what a destination can be */
  kinds: {
    webhook: {
      name: 'Webhook',
      about: 'Your own program, or any URL',
      suggestedName: 'Webhooks',
      how: 'Enter the URL that takes the events. Each is one POST with JSON.',
    },
    slack: {
      name: 'Slack',
      about: 'Messages in a channel',
      suggestedName: 'Slack',
      how: 'In your Slack app, open Incoming Webhooks, add one to a channel, and copy its URL.',
    },
    teams: {
      name: 'Microsoft Teams',
      about: 'Cards in a channel',
      suggestedName: 'Microsoft Teams',
      how:
        'In Teams, open Workflows of the channel, take the template “Send webhook alerts to a ' +
        'channel”, and copy its URL.',
    },
    discord: {
      name: 'Discord',
      about: 'Messages in a channel',
      suggestedName: 'Discord',
      how: 'In the settings of the channel, open Integrations, create a webhook, and copy its URL.',
    },
    pagerduty: {
      name: 'PagerDuty',
      about: 'Incidents of a service',
      suggestedName: 'PagerDuty',
      how:
        'In PagerDuty, add the integration “Events API v2” to a service, and enter its ' +
        'integration key as the routing key. Every event that matches the filter opens an incident.',
    },
    cloudevents: {
      name: 'CloudEvents',
      about: 'Knative, Event Grid, a broker',
      suggestedName: 'CloudEvents',
      how: 'Enter the address of the broker. It gets CloudEvents 1.0 as JSON, up to 50 a request.',
    },
    oauth2: {
      name: 'OAuth2 API',
      about: 'An API that wants a token',
      suggestedName: 'API',
      how:
        'Enter the URL of the API, and under Authentication the token URL, the id and the secret ' +
        'of a client with the grant client_credentials. Waypost gets and renews the token.',
    },
  },
  endpointStep: {
    question: 'What receives the events?',
    whereTo: (kind: string) => `Where to: ${kind}`,
    guide: (kind: string) => `Guide to ${kind}`,
    severalUrls:
      'Every event goes to all URLs at the same time, and counts as delivered as soon as one of ' +
      'them answers 2xx.',
    secret: 'Signing secret',
    secretHint:
      'Waypost signs every request with it, the test too. Give it to your receiver, which then ' +
      'knows that a request comes from Waypost.',
    howToVerify: 'How a receiver checks it',
    notChecked: (kind: string) =>
      `${kind} does not check signatures, so you need not copy a secret. Waypost signs its ` +
      'requests with one all the same.',
    createTask: 'create the destination',
    saveAndContinue: 'Save and continue',
    savedDisabled: 'Nothing is sent until you enable it. All other settings can follow later.',
    saveAndTest: 'Save and test',
    saveTask: 'save the endpoint',
  },
  storedStep: {
    cancel: 'Cancel',
  },
  testStep: {
    title: 'Does it accept an event?',
    hint: (urls: number, signed: boolean) =>
      `Waypost sends one ${signed ? 'signed ' : ''}sample to ` +
      `${urls === 1 ? 'the URL' : `the ${urls} URLs`}, exactly as it will send events.`,
    continue: 'Continue',
    goOnAnyway: 'Go on anyway',
    skip: 'Skip the test',
    changeEndpoint: 'Change the endpoint',
  },
  liveStep: {
    whatIsSent: 'What is sent',
    from: 'From',
    noSource: 'no source',
    events: 'Events',
    everyEvent: 'every event',
    thatMatch: 'that match',
    to: 'To',
    as: 'As',
    signed: 'signed',
    unsigned: 'not signed',
    changeUnder: (settings: ReactNode) =>
      nodes`Change it, and all else such as types, headers, retries and limits, under ${settings}.`,
    settings: 'Settings',
    switchOn: 'Switch it on',
    testFailed: 'The test failed',
    notTested: 'The endpoint is not tested',
    untestedHint: (window: string | undefined) =>
      'You can enable it nevertheless. What the endpoint refuses, with most 4xx, or redirects is ' +
      'dead at once. What fails otherwise, or is put off with 408, 423, 425 or 429, is retried ' +
      `for ${window ?? 'the retry window'}.`,
    hint: (window: string | undefined) =>
      'Enable it to send events from now on. Paused, it holds them until you resume, for up to ' +
      `${window ?? 'the retry window'}.`,
    enable: 'Enable',
    enablePaused: 'Enable, paused',
    enableTask: 'enable it',
    keepDisabled: 'Keep it disabled for now',
  },
  firstEvent: {
    arrived: 'Your first event has arrived',
    arrivedHint: 'You’re all set. Waypost now delivers events automatically.',
    openDestination: 'Open destination',
    paused: 'Paused: events are held',
    waiting: 'Waiting for the first event …',
    sendOne: 'Send one, for example with this code. It appears here immediately.',
    sendFirst: 'Send a first event',
    received: 'Received',
    receivedWaypost: 'Received by Waypost',
    nothingYet: 'Nothing yet',
    delivered: 'Delivered',
    deliveredTo: (name: string) => `Sent to ${name}`,
    notForIt: (why: string) => `The newest event does not go there: ${why}.`,
  },
};
