import { type ReactNode } from 'react';
import { counted } from './counts';
import { nodes } from './nodes';

/** Texts of audiences and computed traits. */
export const audience = {
  audienceForm: {
    countedWhenComplete: 'When the conditions are complete, matching users are counted here.',
    countedWhenChanged:
      'When you change the condition, matching users are counted here before you save.',
  },
  draft: {
    nameWithoutKey:
      'It must contain a letter or a digit, and give a trait of at most 100 characters',
    traitTaken: (key: string, name: string) =>
      `It would use the trait ${key}, which “${name}” already uses`,
    enterName: 'Enter a name',
    chooseOne: 'Choose at least one',
    syncEveryProblem: 'Enter a duration from 1s to 24h, such as 10s, 1m or 1h',
    completeConditions: 'Complete each condition',
    enterCondition: 'Enter a condition',
    enterEvent: 'Enter an event',
    enterProperty: 'Enter a property',
    windowProblem: 'Enter a duration up to 366d, such as 720h or 30d, or leave empty for all time',
  },
  edit: {
    countingStartsOver: 'Counting starts over',
    countingStartsOverHint:
      'The retained messages are counted from the beginning. Receivers get no updates ' +
      'until this is done, and then the changes.',
    saveTask: 'save',
  },
  fields: {
    traitRemains: (stored: string) =>
      `Display name. The trait remains ${stored}, because receivers use it`,
    traitNamed: (key: string) => `Receivers see the trait ${key}`,
    traitDerives: 'Display name. The trait for receivers derives from it',
    name: 'Name',
    sources: 'Sources',
    allSources: 'All sources, including future ones',
    destinations: 'Destinations',
    destinationsHint: 'Each receives an identify call for every user who joins or leaves',
    paused: ' (paused)',
    off: ' (off)',
    connectOne: 'connect one',
    noDestinations: (link: ReactNode) =>
      nodes`No destinations yet: ${link}. Members are counted anyway, and a destination that you add later receives the changes from then on.`,
    disabledMisses: (names: string) =>
      `${names}: disabled. It misses the updates sent while it is disabled, and they are ` +
      'not sent again.',
    syncInterval: 'Sync interval',
    syncIntervalHint: 'How often changes are sent to receivers: 1s to 24h',
  },
  history: {
    usersOverTime: 'Users over time',
    chart: 'the chart',
    sizes: 'size',
    syncs: 'Syncs',
    theSyncs: 'syncs',
    noSyncsYet: 'No syncs yet.',
    when: 'When',
    users: 'Users',
    checked: 'Checked',
    changed: 'Changed',
    sentTotal: 'Sent in total',
    waiting: 'Waiting',
  },
  members: {
    values: 'Values',
    members: 'Members',
    findUser: 'Find a user',
    userId: 'User id',
    theValues: 'values',
    theMembers: 'members',
    user: 'User',
    value: 'Value',
    since: 'Since',
    isNoMember: (user: string) => `“${user}” is not a member.`,
    isMember: (user: string) => `“${user}” is a member.`,
    noMembers: 'No members.',
    noMembersSoFar: 'No members found so far. Continue with the next page.',
  },
  preview: {
    preview: 'Preview',
    countUsers: 'count the users',
    counting: 'Counting …',
    countingFailed: 'Counting failed',
    tryAgain: 'Try again',
    countingAgain: 'Counting again …',
    profilesChecked: 'Profiles checked',
    noneMatches: 'None of them matches.',
    sampleMembers: 'Sample of members',
    user: 'User',
    traits: 'Traits',
    none: 'none',
    traitsOf: (userId: string) => `traits of ${userId}`,
  },
  sizeChart: {
    users: 'Users',
    noCounts: 'No counts in this period',
    counted: (n: number) => counted(n, 'user'),
    summary: (users: string, min: string, max: string) =>
      `${users} now; minimum ${min}, maximum ${max}`,
  },
  status: {
    state: 'State',
    profilesChecked: 'Profiles checked',
    users: 'Users',
    callsSent: 'Calls sent',
    waiting: 'Waiting',
    fullProfilesHint: 'Some changes of these users were refused because their profiles are full',
    fullProfiles: 'Full profiles',
    lastSync: 'Last sync',
  },
  traitForm: {
    valueOfUser: 'Value of each user',
    value: 'Value',
    eventName: 'Event name',
    property: 'Property',
    propertyHint: 'Leave empty for the time of the event',
    withinLast: 'Within the last',
    withinLastHint: 'Such as 720h or 30d. Leave empty for all time',
  },
  upload: {
    upload: 'Upload',
    file: 'File',
    fileHint: 'One user per line: ann, "ann" or {"userId":"ann"}. Or CSV with a column user_id',
    fileExample: 'Choose a file',
    lines: 'Lines',
    replaceList: 'replace the list: users not in the file are removed',
    addAndRemove: 'add and remove members: {"add":"ann"}, {"remove":"bob"}',
    cancel: 'Cancel',
    firstLinesReadAs: 'The first lines are read as:',
    firstLines: 'first lines',
    readingFile: 'Reading the file …',
    linesCounted: (n: number) => counted(n, 'line'),
    percentSent: (percent: number, lines: string) =>
      `${percent} % of ${lines} sent. The list changes only after the whole file has arrived.`,
    sent: 'Sent',
    members: (n: number) => counted(n, 'member'),
    uploaded: (lines: string) => `${lines} uploaded`,
    applied: 'The upload is applied.',
    beingApplied: 'The upload is being applied. Members follow shortly.',
    fileEmpty: 'This file is empty',
    fileEmptyHint: 'It would remove all members. Nothing was sent. Choose another file.',
    cancelled: 'Cancelled. Nothing was changed.',
    uploadTask: 'upload the file',
  },
};
