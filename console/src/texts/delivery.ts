import { count, counted } from './counts';

/** Texts of the actions for deliveries, and of their timeline. */
export const delivery = {
  compare: {
    compareAttempts: 'Compare attempts',
    from: 'From',
    to: 'To',
    noDifference: 'These attempts do not differ.',
    differences: 'Differences',
    what: 'What',
    again: ' again',
    attempt: (n: number) => `Attempt ${n}`,
    withheld: (n: number) => `Before attempt ${n}: not sent`,
    attemptOfReplay: (n: number, replay: number) => `Attempt ${n} of replay ${replay}`,
  },
  differences: {
    url: (i: number) => `URL ${i}: `,
    address: 'Address',
    outcome: 'Outcome',
    status: 'Status',
    error: 'Error',
    time: 'Time',
    phase: (phase: string) => `Phase ${phase}`,
    requestHeader: 'Request header',
    responseHeader: 'Response header',
    responseBody: 'Response body',
  },
  recall: {
    keepWaiting: 'Keep waiting',
    sending: 'It is being sent',
    cancelling: 'It is being cancelled',
    sendNow: 'Send now',
    sendQuestion: 'Send this delivery now?',
    sendHint:
      'It is the next attempt of its plan, made before its time, even if its endpoint is ' +
      'held back after failures. If it fails, the plan continues.',
    more: 'More actions',
    cancelDelivery: 'Cancel delivery',
    cancelQuestion: 'Cancel this delivery?',
    cancelHint: 'It ends without another attempt. You can replay it later.',
    changeTask: 'change it',
  },
  resend: {
    editSendTest: 'Edit and send a test',
    hint:
      'Waypost sends this once, marked as a test, with an id of its own. The original ' +
      'delivery does not change.',
    message: 'Message',
    sendTest: 'Send a test',
  },
  sample: {
    enterJsonObject: 'Enter a JSON object',
    notValidJson: (message: string) => `Not valid JSON: ${message}`,
  },
  selection: {
    deliveries: (n: number) => `${count(n)} ${n === 1 ? 'delivery' : 'deliveries'}`,
    question: (action: string) => `${action}?`,
    done: (n: string, past: string) => `${n} ${past}`,
    doneBut: (n: string, past: string, failed: string, why: string) =>
      `${n} ${past}, ${failed} not: ${why}`,
    selectedDeliveries: 'Selected deliveries',
    selected: (n: string) => `${n} selected`,
    clear: 'Clear the selection',
    replay: (many: string) => `Replay ${many}`,
    replayed: 'replayed',
    replayHint:
      'They go to the current URLs of their destinations, with the same webhook-ids. ' +
      'Receivers get again what was already delivered.',
    sendNow: (many: string) => `Send ${many} now`,
    beingSent: 'being sent',
    sendHint:
      'Each is the next attempt of its plan, made before its time. Those that fail ' +
      'continue their plan.',
    cancel: (many: string) => `Cancel ${many}`,
    beingCancelled: 'being cancelled',
    keepWaiting: 'Keep waiting',
    cancelHint: 'They end without another attempt. You can replay them later.',
    dismiss: 'Cancel',
  },
  timeline: {
    title: (what: string, destination: string) => `${what} → ${destination}`,
    delivered: (at: string, took: string, attempts: string) =>
      `Delivered at ${at}, ${took} after it was accepted, ${attempts}.`,
    atFirstAttempt: 'at the first attempt',
    afterAttempts: (attempts: number) =>
      attempts === 0 ? 'without an attempt' : `after ${counted(attempts, 'attempt')}`,
    ofReplay: (attempts: string, replay: number) => `${attempts} of replay ${replay}`,
    notAllUrls: 'Another of its URLs did not accept it.',
    ended: (state: string, at: string, attempts: string, reason: string) =>
      `${state} since ${at}, ${attempts}.${reason === '' ? '' : ` ${reason}.`}`,
    answered: (status: number, said: string) => `The endpoint answered HTTP ${status}: ${said}`,
    accepted: 'Accepted',
    replay: (replay: number) => `Replay ${replay}`,
    attempt: (n: number, results: string, took: string) => `Attempt ${n}: ${results} (${took})`,
    withheld: (results: string) => `Not sent: ${results}`,
    givesUp: 'Gives up',
    endWindow: 'End of its window',
    noAttemptsYet: 'No attempts yet',
    soFar: (made: number) => `${made} ${made === 1 ? 'attempt' : 'attempts'} so far`,
    givesUpAt: (at: string) => `gives up at ${at}`,
    windowEnded: 'its window has ended',
    budget: (attempts: string, next: string, end: string) => `${attempts}. ${next}; ${end}.`,
  },
};
