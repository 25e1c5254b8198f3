import { Checkbox, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { type Destination } from '../../../shared/api/operations';
import { SIGNATURE_ALGORITHMS, SIGNATURE_ENCODINGS } from '../../../shared/model/endpoint-auth';
import { Disclosure } from '../ui/disclosure';
import { problemAt } from './field-values';
import { PublicKeys } from './public-keys';
import { type Read } from './save';
import { kindOf, type SignatureDraft, withKind } from './signature-draft';
import { text } from '../texts';

const words = text.signing.signatureSection;

/** The signatures of a destination's requests. */

const KINDS = words.kinds;

interface Props {
  signature: SignatureDraft;
  onChange: (signature: SignatureDraft) => void;
  problems: ReadonlyMap<string, string>;
  /** the stored destination, to show its keys */
  destination: Destination;
  etag: string;
  /** undefined: keys cannot be rotated here */
  onRotated?: ((response: Read) => void) | undefined;
}

export function SignatureSection({
  signature,
  onChange,
  problems,
  destination,
  etag,
  onRotated,
}: Props) {
  const { xSignature, ed25519, custom } = signature;
  const hasKey = destination.signature?.ed25519 ?? false;
  return (
    <Disclosure
      title={words.signatures}
      summary={inWords(signature)}
      problem={problemAt(problems, 'signature')}
    >
      <Stack gap="sm">
        <Checkbox
          label={words.sendXSignature}
          description={words.sendXSignatureHint}
          checked={xSignature}
          onChange={(event) => onChange({ ...signature, xSignature: event.target.checked })}
        />
        <Checkbox
          label={words.signEd25519Too}
          description={words.signEd25519TooHint}
          checked={ed25519}
          onChange={(event) => onChange({ ...signature, ed25519: event.target.checked })}
        />
        {ed25519 && !hasKey && <Text size="sm">{words.keysWhenSaved}</Text>}
        {ed25519 && hasKey && (
          <PublicKeys destination={destination} etag={etag} onRotated={onRotated} />
        )}
        <NativeSelect
          label={words.forOtherProducts}
          data={Object.entries(KINDS).map(([value, label]) => ({ value, label }))}
          value={kindOf(signature)}
          error={problems.get('signature/custom')}
          onChange={(event) => onChange(withKind(signature, event.target.value))}
        />
        {custom && (
          <Custom
            custom={custom}
            problems={problems}
            onChange={(changed) => onChange({ ...signature, custom: changed })}
          />
        )}
      </Stack>
    </Disclosure>
  );
}

type CustomDraft = NonNullable<SignatureDraft['custom']>;

interface CustomProps {
  custom: CustomDraft;
  onChange: (custom: CustomDraft) => void;
  problems: ReadonlyMap<string, string>;
}

function Custom({ custom, onChange, problems }: CustomProps) {
  return (
    <Group align="flex-start" grow>
      <TextInput
        label={words.signatureHeader}
        value={custom.header}
        error={problems.get('signature/custom/header')}
        onChange={(event) => onChange({ ...custom, header: event.target.value.trim() })}
      />
      <NativeSelect
        label={words.hash}
        data={[...SIGNATURE_ALGORITHMS]}
        value={custom.algorithm}
        onChange={(event) =>
          onChange({ ...custom, algorithm: event.target.value as CustomDraft['algorithm'] })
        }
      />
      <NativeSelect
        label={words.encoding}
        data={[...SIGNATURE_ENCODINGS]}
        value={custom.encoding}
        onChange={(event) =>
          onChange({ ...custom, encoding: event.target.value as CustomDraft['encoding'] })
        }
      />
      <TextInput
        label={words.prefix}
        placeholder={words.prefixExample}
        value={custom.prefix}
        error={problems.get('signature/custom/prefix')}
        onChange={(event) => onChange({ ...custom, prefix: event.target.value })}
      />
    </Group>
  );
}

function inWords({ xSignature, ed25519, custom }: SignatureDraft): string {
  const parts = [
    'webhook-signature',
    xSignature && 'X-Signature',
    ed25519 && words.ed25519,
    custom && custom.header,
  ];
  return parts.filter((part) => typeof part === 'string' && part !== '').join(', ');
}
