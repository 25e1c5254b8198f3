/** Texts of the steps that connect an integration. */
export const connect = {
  chooseIntegration: {
    theCatalog: 'the catalog',
    catalogEmpty: 'The catalog is empty',
    question: 'Where do you want to send your messages?',
    choose: (name: string) => `Choose ${name}`,
  },
  connect: {
    names: {
      integration: 'Integration',
      sources: 'Sources',
      urls: 'URLs',
      test: 'Test',
      settings: 'Settings',
      switch: 'Enable',
      live: 'First event',
    },
    connect: 'Connect',
    notAllowed: 'Users who can create destinations can also read the messages sent to them.',
    connectIntegration: 'Connect an integration',
    theDestination: 'destination',
    steps: 'Steps',
  },
  editSteps: {
    saveAndTest: 'Save and test',
    saveTask: 'save the changes',
    continue: 'Continue',
    saveSettingsTask: 'save the settings',
    optional: 'These settings are optional. You can change them later.',
  },
  firstEvent: {
    arrived: 'Your first event has arrived',
    arrivedHint: 'You’re all set. Waypost now delivers events automatically.',
    openDestination: 'Open destination',
    paused: 'Paused: events are held',
    waiting: 'Waiting for the first event …',
    sendOne: 'Send one, for example with this code. It appears here immediately.',
    received: 'Received',
    receivedWaypost: 'Received by Waypost',
    nothingYet: 'Nothing yet',
    delivered: 'Delivered',
    deliveredTo: (name: string) => `Delivered to ${name}`,
  },
  sourcesStep: {
    theSources: 'sources',
    hint:
      'A source is where calls come from: a site, an app, a server. Choose the sources to ' +
      'deliver.',
    sources: 'Sources',
    disabled: (name: string) => `${name} (disabled)`,
    continue: 'Continue',
    chooseOne: 'Choose or create a source to continue.',
    suggestedName: 'My site',
    nameFirst: 'No sources yet. Name your first source',
    newSourceName: 'New source name',
  },
  storedStep: {
    cancel: 'Cancel',
  },
  switchStep: {
    enable: 'Enable',
    enableIt: 'Enable it',
    enableHint: 'Start sending events from the selected sources.',
    enableButPause: 'Enable, but pause',
    enablePausedTitle: 'Enable it, but pause',
    enablePausedHint: (window: string | undefined) =>
      `Events are held until you resume, for up to ${window ?? 'the retry window'}.`,
    enablePaused: 'Enable, paused',
    enableTask: 'enable it',
    keepDisabled: 'Keep it disabled for now',
  },
  testStep: {
    hint: (urls: number) =>
      `Send a test event to ${urls === 1 ? 'your URL' : `your ${urls} URLs`} and see the response.`,
    continue: 'Continue',
    changeUrls: 'Change the URLs',
  },
  urlsStep: {
    hint:
      'Waypost sends every message to all URLs at the same time, as an HTTP POST. A message ' +
      'counts as delivered as soon as one URL answers 2xx; the others are not retried.',
    createTask: 'create the destination',
    saveAndContinue: 'Save and continue',
    savedDisabled: 'Saved as disabled. Nothing is sent until you enable it.',
  },
};
