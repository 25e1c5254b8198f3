import { type ReactNode } from 'react';
import { count, counted } from './counts';
import { nodes } from './nodes';

/** Texts of the building blocks of all pages. */
export const ui = {
  code: {
    copy: (label: string) => `Copy ${label}`,
    copied: 'Copied',
  },
  deletion: {
    delete: 'Delete',
    question: (name: string) => `Delete ${name}?`,
    task: 'delete it',
  },
  entryPicker: {
    search: 'Search by name or id',
    searching: 'Searching …',
    nothingFound: 'Nothing found',
    clear: (label: string) => `Clear ${label}`,
  },
  eventList: {
    by: (user: string) => `by ${user},`,
    call: 'call',
    calls: (count: number) => counted(count, 'call'),
    contentNotStored:
      'The source had many rejected calls. The content of these is not stored, only their number.',
    rejected: (code: string) => `Rejected: ${code}`,
    noDestinations: 'No destinations are connected to this source.',
    destinations: 'Destinations',
    showDeliveryTo: (name: string) => `Show the delivery to ${name}`,
    showDelivery: 'Show the delivery',
    noType: 'no type',
    partOfCall: 'a call in part',
    warnings: {
      timestamp_unreadable: 'Its time could not be read. It has the time of its receipt.',
      sent_at_unreadable: 'sentAt could not be read. The time of the call is not corrected.',
    },
  },
  timeFilter: {
    time: 'Time',
    any: 'Any time',
    quarter: 'Last 15 minutes',
    hour: 'Last hour',
    day: 'Last 24 hours',
    week: 'Last 7 days',
    deliveries: {
      between: 'Accepted between …',
      from: 'Accepted from',
      before: 'Accepted before',
    },
    changes: {
      between: 'Between …',
      from: 'From',
      before: 'Before',
    },
    endedBetween: 'Ended between …',
    endedFrom: 'Ended from',
    endedBefore: 'Ended before',
  },
  filters: {
    hideFilters: 'Hide filters',
    filters: 'Filters',
    clear: 'Clear',
    all: 'all',
    page: (nth: number) => `Page ${nth}`,
    firstPage: 'First page',
    nextPage: 'Next page',
  },
  jsonView: {
    items: (n: number) => `${n} ${n === 1 ? 'item' : 'items'}`,
    fields: (n: number) => `${n} ${n === 1 ? 'field' : 'fields'}`,
    copy: (label: string) => `Copy ${label}`,
  },
  marks: {
    marks: 'Notices and changes',
    earlier: (n: number) =>
      `${count(n)} earlier ${n === 1 ? 'notice or change' : 'notices and changes'}`,
  },
  savedViews: {
    saved: 'View saved in this browser',
    views: 'Views',
    forgetView: 'Forget this view',
    saveView: 'Save this view',
    nameView: 'Name of the view',
    save: 'Save',
    cancel: 'Cancel',
  },
  snippets: {
    theAddress: 'the address of ingest',
    ingestUrl: 'Ingest URL',
    ingestUrlHint: 'Where your clients send events. WAYPOST_INGEST_URL sets it for everyone',
    clientsSend: (code: ReactNode) => nodes`Clients send to ${code}`,
    client: 'Client',
    codeFor: (name: string) => `code for ${name}`,
    install: 'In an empty folder, install the client:',
    installFromClone: 'In an empty folder, install the client from your clone of Waypost:',
    installFor: (name: string) => `installation for ${name}`,
    saveAs: (file: ReactNode) => nodes`Save this as ${file}:`,
    run: 'Run it:',
    runFor: (name: string) => `command for ${name}`,
    ownClient:
      'The client of Waypost says of every call whether it arrived, and keeps calls while ingest ' +
      'is away.',
    comparison: 'Compare the clients',
    secretKey: 'The write key of this source is secret',
    secretKeyHint:
      'In a page or an app everybody can read it, and send calls about any user that audiences ' +
      'count. Put the key of a source for pages there, and connect that source to your ' +
      'destinations.',
    createForPages: 'Create a source for pages',
    nameForPages: (name: string) => `${name} (pages)`,
    createTask: 'create the source',
  },
  sparkline: {
    attempts: (n: number) => counted(n, 'attempt'),
    deliveredFailed: (delivered: string, failed: string) =>
      `${delivered} delivered, ${failed} failed`,
  },
  spanChoice: {
    time: 'Time',
    selectedInChart: 'as selected',
    zoomOut: 'Zoom out',
  },
  tile: {
    within: (name: string, span: string) => `${name}, ${span}`,
  },
  timeCharts: {
    theCharts: 'the charts',
    calls: 'calls',
    requests: (n: number) => counted(n, 'request'),
    overLimits: (limited: string) => `; ${limited} over the limit of a source`,
    callsSummary: (accepted: string, rejected: string, over: string) =>
      `${accepted} accepted, ${rejected} rejected${over}`,
    accepted: 'Accepted',
    rejected: 'Rejected',
    incomingEvents: 'Incoming events',
    delivered: 'Delivered',
    dead: 'Dead',
    failedAttempts: 'Failed attempts',
    attempts: (n: number) => counted(n, 'attempt'),
    failedOf: (failed: string, attempts: string) => `${failed} of ${attempts}`,
    deliveriesSummary: (delivered: string, dead: string) => `${delivered} delivered, ${dead} dead`,
    deliveries: 'Deliveries',
    asTable: 'As a table',
    deliveriesOverTime: 'Deliveries over time',
    time: 'Time',
    nothing: 'Nothing in this time',
    sendEvent: 'Send an event',
    noneFailed: 'No attempt failed',
    latencySummary: (p50: string, p95: string) => `p50 ${p50}, p95 ${p95}`,
    latency: 'From acceptance to delivery',
  },
  toast: {
    messages: 'Messages',
  },
  ui: {
    load: (what: string) => `load ${what}`,
    loading: (what: string) => `Loading ${what} …`,
    notFound: (missing: string) => `Not found: ${missing}`,
    couldNot: (what: string) => `Could not ${what}`,
    line: (n: number) => `Line ${n}`,
    tryAgain: 'Try again',
    adminsOnly: 'This requires the role admin',
    nothingSoFar: 'Nothing found so far. Older entries follow on the next page',
    close: 'Close',
    cancel: 'Cancel',
    crumbs: 'Path to this page',
  },
  unsaved: {
    question: 'Leave without saving?',
    hint: 'Your changes on this page are not saved.',
    stay: 'Stay',
    leave: 'Leave',
  },
};
