/** Texts of the form for alerts. */
export const alerts = {
  alertsForm: {
    email: 'E-mail',
    emailHint: 'Addresses separated by commas. Each gets every alert',
    saveTask: 'save the alerts',
    failingAfter: 'Failing after',
    failingAfterHint: 'No success for this long, with failures or with nothing that could be sent',
    deadLettersEvery: 'Dead-letter alerts at most every',
    deadLettersEveryHint: 'The first one immediately, then grouped',
    disableAfterFailing: 'Disable after failing for',
    disableAfterFailingHint: 'Cancels waiting deliveries. Leave empty for never',
    sendAlerts: 'Send alerts',
    sendAlertsToNobody: 'Nobody gets them yet: add a URL or an address below',
    sendAlertsHint: 'To these URLs and addresses. If off, notices appear only in the console',
  },
};
