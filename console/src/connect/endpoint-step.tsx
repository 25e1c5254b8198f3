import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { creationOf, emptyDraft, problemsOf } from '../destination/draft';
import { NameField, SecretField } from '../destination/fields';
import { same } from '../destination/field-values';
import { FilterField } from '../destination/filter-field';
import { RequestSection } from '../destination/request-section';
import { WebhooksEditor } from '../destination/webhooks-editor';
import { useChange } from '../lib/api';
import { DOCS } from '../lib/docs';
import { fieldProblems } from '../lib/problems';
import { newSecret } from '../lib/secret';
import { Failure, Section } from '../ui/ui';
import { useUnsaved } from '../ui/unsaved';
import { type Kind, KINDS, presetOf, withKind } from './kinds';
import { type Stored, StoredStep } from './stored-step';
import { text } from '../texts';

const words = text.connect.endpointStep;
const kinds = text.connect.kinds;

/**
 * Step 2: where to send, and how. It stores the destination disabled, so that it can be tested. Its
 * secret is set from the beginning, so that a receiver that checks signatures accepts the test.
 */
export function NewEndpoint({ sources }: { sources: string[] }) {
  const [secret] = useState(newSecret);
  const [kind, setKind] = useState<Kind>('webhook');
  // What the card has filled in, and what the user has made of it.
  const [filled, setFilled] = useState(() => ({
    ...emptyDraft(sources, kinds.webhook.suggestedName),
    sharedSecret: secret,
  }));
  const [draft, setDraft] = useState(filled);
  const navigate = useNavigate();
  const saved = useUnsaved(!same(draft, filled));
  const make = useChange('POST /destinations', {
    onDone: ({ data }) => {
      saved();
      // The browser's Back leads to what is stored now: this form would create another one.
      void navigate(`/connect/${data.id}/endpoint`, { replace: true });
      void navigate(`/connect/${data.id}/test`);
    },
  });
  const own = problemsOf(draft);
  const problems = new Map([...fieldProblems(make.error), ...own]);
  const { auth, checksSignatures, example, wantsFilter } = presetOf(kind);
  const fields = { draft, onChange: setDraft, problems };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        make.mutate({ body: creationOf(draft) });
      }}
    >
      <Stack>
        <KindCards
          kind={kind}
          onChange={(next) => {
            setFilled(withKind(filled, kind, next));
            setDraft(withKind(draft, kind, next));
            setKind(next);
          }}
        />
        <Section title={words.whereTo(kinds[kind].name)}>
          <Stack>
            <Text size="sm">
              {kinds[kind].how}{' '}
              <a className="link" href={DOCS.kinds[kind]} target="_blank" rel="noreferrer">
                {words.guide(kinds[kind].name)}
              </a>
            </Text>
            <WebhooksEditor
              key={kind}
              show={checksSignatures || auth !== undefined ? 'urls' : 'address'}
              example={example}
              opensAuth={auth !== undefined}
              webhooks={draft.webhooks}
              onChange={(webhooks) => setDraft({ ...draft, webhooks })}
              problems={problems}
            />
            {draft.webhooks.length > 1 && <Text size="sm">{words.severalUrls}</Text>}
            <NameField {...fields} />
            {wantsFilter && <FilterField {...fields} />}
            <RequestSection {...fields} hasSecret={false} />
          </Stack>
        </Section>
        {checksSignatures ? (
          <Section title={words.secret}>
            <Stack gap="sm">
              <Text size="sm">
                {words.secretHint}{' '}
                <a className="link" href={DOCS.receiving} target="_blank" rel="noreferrer">
                  {words.howToVerify}
                </a>
              </Text>
              <SecretField
                generated={secret}
                value={draft.sharedSecret}
                onChange={(sharedSecret) => setDraft({ ...draft, sharedSecret })}
                problem={problems.get('sharedSecret')}
                has={false}
              />
            </Stack>
          </Section>
        ) : (
          <Text size="sm" className="quiet">
            {words.notChecked(kinds[kind].name)}
          </Text>
        )}
        {make.error && <Failure error={make.error} what={words.createTask} />}
        <Group>
          <Button type="submit" loading={make.isPending} disabled={own.size > 0}>
            {words.saveAndContinue}
          </Button>
          <Text size="sm" className="quiet">
            {words.savedDisabled}
          </Text>
        </Group>
      </Stack>
    </form>
  );
}

interface CardsProps {
  kind: Kind;
  onChange: (kind: Kind) => void;
}

function KindCards({ kind, onChange }: CardsProps) {
  return (
    <fieldset className="bare">
      <legend className="question">{words.question}</legend>
      <div className="kinds">
        {KINDS.map((each) => (
          <label key={each} className="kind">
            <input
              type="radio"
              name="kind"
              value={each}
              checked={each === kind}
              onChange={() => onChange(each)}
            />
            <span className="kind-name">{kinds[each].name}</span>
            <span className="quiet">{kinds[each].about}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/** The same step of a stored destination: its name, its URLs, its request and its secret. */
export function EndpointAgain(stored: Stored) {
  return (
    <StoredStep {...stored} next="test" submit={words.saveAndTest} what={words.saveTask} mayCancel>
      {({ draft, setDraft, fields }, { destination }) => (
        <>
          <NameField {...fields} />
          <WebhooksEditor
            // Stored values of headers may have to be entered again, for another host.
            show={draft.webhooks.some(({ headers }) => headers.length > 0) ? 'both' : 'urls'}
            webhooks={draft.webhooks}
            onChange={(webhooks) => setDraft({ ...draft, webhooks })}
            problems={fields.problems}
          />
          <RequestSection {...fields} hasSecret={destination.hasSharedSecret} />
          <SecretField
            value={draft.sharedSecret}
            onChange={(sharedSecret) => setDraft({ ...draft, sharedSecret })}
            problem={fields.problems.get('sharedSecret')}
            has={destination.hasSharedSecret}
          />
        </>
      )}
    </StoredStep>
  );
}
