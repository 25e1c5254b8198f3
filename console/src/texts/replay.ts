import { count } from './counts';

/** Texts of the form for a replay. */
export const replay = {
  newReplay: {
    newReplay: 'New replay',
    replayDeliveries: 'Replay deliveries',
    choose: 'Choose the deliveries',
    countThem: 'Count them',
    sendThem: 'Send them',
    preview: 'Preview',
    countTask: 'count the deliveries',
    startTask: 'start the replay',
    counting: (matched: string) => `Counting … ${matched}`,
    countingFailed: 'Counting failed',
    wouldBeSent: (n: number) => `${count(n)} ${n === 1 ? 'delivery' : 'deliveries'} would be sent`,
    replay: 'Replay',
    replayCounted: (matched: string) => `Replay ${matched}`,
    fromDeadLetters: 'dead letters',
    fromMessages:
      'all messages that Kafka keeps (7 days by default), also from before the destination existed',
    includeDelivered: 'Include delivered',
    onlyFailedUrls: 'Only to URLs that failed',
    onlyFailedUrlsHint:
      'Each delivery goes to the URLs whose last try failed or was never made. URLs that ' +
      'accepted it are left out.',
    chooseOne: 'choose one',
    any: 'any',
    destination: 'Destination',
    from: 'From',
    status: 'Status',
    type: 'Type',
    acceptedFrom: 'Accepted from',
    acceptedBefore: 'Accepted before',
    rateLimit: 'Rate limit per second',
  },
  scope: {
    chooseDestination: 'Choose a destination',
    startBeforeEnd: 'The start must be before the end',
    rateProblem: 'Enter a rate up to 10,000',
  },
};
