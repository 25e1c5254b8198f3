import { Text } from '@mantine/core';
import { SecretField, SourcesField } from '../destination/fields';
import { PlainFields } from '../destination/plain-fields';
import { BatchSection, RetrySection } from '../destination/plan-sections';
import { SignatureSection } from '../destination/signature-section';
import { WebhooksEditor } from '../destination/webhooks-editor';
import { type Stored, StoredStep } from './stored-step';
import { UrlsFields } from './urls-step';
import { text } from '../texts';

const words = text.connect.editSteps;

/**
 * The steps that change the stored destination: its sources or its URLs, visited again, and its
 * other settings.
 */

const AGAIN = { next: 'test', submit: words.saveAndTest, what: words.saveTask, mayCancel: true };

export function SourcesAgain(stored: Stored) {
  return (
    <StoredStep {...stored} {...AGAIN}>
      {({ fields }) => <SourcesField {...fields} />}
    </StoredStep>
  );
}

export function UrlsAgain(stored: Stored) {
  return (
    <StoredStep {...stored} {...AGAIN}>
      {({ fields }, { destination }) => (
        <UrlsFields {...fields} hasSecret={destination.hasSharedSecret} />
      )}
    </StoredStep>
  );
}

/** The user can skip each of these. */
export function SettingsStep(stored: Stored) {
  return (
    <StoredStep {...stored} next="switch" submit={words.continue} what={words.saveSettingsTask}>
      {({ draft, setDraft, fields }, { destination, etag }) => (
        <>
          <Text>{words.optional}</Text>
          <SecretField
            value={draft.sharedSecret}
            onChange={(sharedSecret) => setDraft({ ...draft, sharedSecret })}
            problem={fields.problems.get('sharedSecret')}
            has={destination.hasSharedSecret}
          />
          <WebhooksEditor
            show="headers"
            webhooks={draft.webhooks}
            onChange={(webhooks) => setDraft({ ...draft, webhooks })}
            problems={fields.problems}
          />
          <PlainFields firstSteps {...fields} />
          <div>
            <SignatureSection
              destination={destination}
              etag={etag}
              problems={fields.problems}
              signature={draft.signature}
              onChange={(signature) => setDraft({ ...draft, signature })}
            />
            <BatchSection {...fields} />
            <RetrySection {...fields} />
          </div>
        </>
      )}
    </StoredStep>
  );
}
