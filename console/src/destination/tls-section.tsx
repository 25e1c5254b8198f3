import { Stack, Text, Textarea } from '@mantine/core';
import { Disclosure } from '../ui/disclosure';
import { When } from '../ui/ui';
import { NO_TLS, type TlsDraft } from './auth-draft';
import { problemAt } from './field-values';
import { SecretInput } from './secret-input';

interface Props {
  tls: TlsDraft | undefined;
  onChange: (tls: TlsDraft) => void;
  problems: ReadonlyMap<string, string>;
  /** the API's name of the field: `webhooks/0/tls` */
  field: string;
  /** why a stored key cannot be kept */
  lost: string | undefined;
}

/** The client certificate of a URL, and the authorities of its endpoint. */
export function TlsSection({ tls = NO_TLS, onChange, problems, field, lost }: Props) {
  const pem = (name: 'certificate' | 'ca') => ({
    value: tls[name],
    error: problems.get(`${field}/${name}`),
    classNames: { input: 'mono' },
    autosize: true,
    minRows: 2,
    maxRows: 8,
    spellCheck: false,
  });
  return (
    <Disclosure title="TLS" summary={inWords(tls)} problem={problemAt(problems, field)}>
      <Stack gap="sm">
        <Textarea
          label="Client certificate"
          description="PEM, with its intermediates. Leave empty if the endpoint asks for none"
          {...pem('certificate')}
          onChange={(event) => onChange({ ...tls, certificate: event.target.value, notAfter: null })}
        />
        {tls.notAfter !== null && (
          <Text size="sm">
            Expires <When at={tls.notAfter} exact />
          </Text>
        )}
        <SecretInput
          label="Private key"
          description="PEM, without a passphrase"
          lines
          secret={tls.key}
          lost={tls.certificate === '' ? undefined : lost}
          problem={problems.get(`${field}/key`)}
          onChange={(key) => onChange({ ...tls, key })}
        />
        <Textarea
          label="Authorities of the endpoint"
          description="PEM. Leave empty if a public authority signed the certificate of the endpoint"
          {...pem('ca')}
          onChange={(event) => onChange({ ...tls, ca: event.target.value })}
        />
        {problems.has(field) && <Text className="bad">{problems.get(field)}</Text>}
      </Stack>
    </Disclosure>
  );
}

function inWords({ certificate, ca }: TlsDraft): string {
  const parts = [certificate.trim() !== '' && 'client certificate', ca.trim() !== '' && 'own authorities'];
  return parts.filter((part) => part !== false).join(', ') || 'public authorities, no client certificate';
}
