import { Stack, Text, Textarea } from '@mantine/core';
import { Disclosure } from '../ui/disclosure';
import { When } from '../ui/ui';
import { NO_TLS, type TlsDraft } from './auth-draft';
import { problemAt } from './field-values';
import { SecretInput } from './secret-input';
import { text } from '../texts';

const words = text.signing.tlsSection;

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
    <Disclosure title={words.tls} summary={inWords(tls)} problem={problemAt(problems, field)}>
      <Stack gap="sm">
        <Textarea
          label={words.clientCertificate}
          description={words.clientCertificateHint}
          {...pem('certificate')}
          onChange={(event) =>
            onChange({ ...tls, certificate: event.target.value, notAfter: null })
          }
        />
        {tls.notAfter !== null && (
          <Text size="sm">{words.expires(<When at={tls.notAfter} exact />)}</Text>
        )}
        <SecretInput
          label={words.privateKey}
          description={words.privateKeyHint}
          lines
          secret={tls.key}
          lost={tls.certificate === '' ? undefined : lost}
          problem={problems.get(`${field}/key`)}
          onChange={(key) => onChange({ ...tls, key })}
        />
        <Textarea
          label={words.authoritiesEndpoint}
          description={words.authoritiesEndpointHint}
          {...pem('ca')}
          onChange={(event) => onChange({ ...tls, ca: event.target.value })}
        />
        {problems.has(field) && <Text className="bad">{problems.get(field)}</Text>}
      </Stack>
    </Disclosure>
  );
}

function inWords({ certificate, ca }: TlsDraft): string {
  const parts = [
    certificate.trim() !== '' && words.hasCertificate,
    ca.trim() !== '' && words.hasAuthorities,
  ];
  return parts.filter((part) => part !== false).join(', ') || words.hasNeither;
}
