import { NativeSelect, Stack, TextInput } from '@mantine/core';
import { Disclosure } from '../ui/disclosure';
import { ListField } from '../ui/list-field';
import {
  type AuthDraft,
  type AuthType,
  NO_SECRET,
  type ParamDraft,
  SECRET_FIELDS,
  withType,
} from './auth-draft';
import { problemAt } from './field-values';
import { SecretInput } from './secret-input';
import { text } from '../texts';

const words = text.signing.authSection;

/** The authentication of a URL. */

const TYPES: Record<AuthType, string> = words.types;

const SECRETS: Record<AuthType, string> = words.secrets;

interface Props {
  auth: AuthDraft | undefined;
  onChange: (auth: AuthDraft | undefined) => void;
  problems: ReadonlyMap<string, string>;
  /** the API's name of the field: `webhooks/0/auth` */
  field: string;
  /** why stored secrets cannot be kept */
  lost: string | undefined;
  disabled: boolean;
}

interface SectionProps extends Props {
  /** shows the fields at once */
  isOpen: boolean;
}

export function AuthSection({ auth, onChange, problems, isOpen, ...rest }: SectionProps) {
  const { field, lost, disabled } = rest;
  const options = Object.entries(TYPES).map(([value, label]) => ({ value, label }));
  const fields = { problems, field, lost, disabled };
  return (
    <Disclosure
      title={words.authentication}
      summary={auth ? TYPES[auth.type] : words.none}
      problem={problemAt(problems, field)}
      isOpen={isOpen}
    >
      <Stack gap="sm">
        <NativeSelect
          label={words.authenticateBy}
          data={[{ value: '', label: words.nothing }, ...options]}
          value={auth?.type ?? ''}
          error={problems.get(field)}
          onChange={({ target: { value } }) =>
            onChange(value === '' ? undefined : withType(auth, value as AuthType))
          }
        />
        {auth && <Credentials key={auth.type} auth={auth} onChange={onChange} {...fields} />}
      </Stack>
    </Disclosure>
  );
}

interface CredentialsProps extends Omit<Props, 'auth' | 'onChange'> {
  auth: AuthDraft;
  onChange: (auth: AuthDraft) => void;
}

type TextName = 'username' | 'name' | 'tokenUrl' | 'clientId' | 'scope' | 'audience';

function Credentials({ auth, onChange, problems, field, lost, disabled }: CredentialsProps) {
  const text = (name: TextName) => ({
    value: auth[name],
    autoComplete: 'off',
    spellCheck: false,
    error: problems.get(`${field}/${name}`),
    onChange: (event: { target: { value: string } }) =>
      onChange({ ...auth, [name]: event.target.value }),
  });
  return (
    <>
      {auth.type === 'basic' && <TextInput label={words.userName} {...text('username')} />}
      {auth.type === 'header' && (
        <TextInput
          label={words.apiKeyHeader}
          placeholder={words.apiKeyHeaderExample}
          {...text('name')}
        />
      )}
      {auth.type === 'oauth2' && (
        <>
          <TextInput label={words.tokenUrl} type="url" inputMode="url" {...text('tokenUrl')} />
          <TextInput label={words.clientId} {...text('clientId')} />
        </>
      )}
      <SecretInput
        label={SECRETS[auth.type]}
        secret={auth.secret}
        onChange={(secret) => onChange({ ...auth, secret })}
        problem={problems.get(`${field}/${SECRET_FIELDS[auth.type]}`)}
        lost={lost}
      />
      {auth.type === 'oauth2' && (
        <>
          <TextInput label={words.scope} description={words.scopeHint} {...text('scope')} />
          <TextInput
            label={words.audience}
            description={words.audienceHint}
            {...text('audience')}
          />
          <NativeSelect
            label={words.sendIdSecret}
            data={[
              { value: 'basic', label: words.inHeader },
              { value: 'body', label: words.inForm },
            ]}
            value={auth.clientAuth}
            onChange={({ target: { value } }) =>
              onChange({ ...auth, clientAuth: value === 'body' ? 'body' : 'basic' })
            }
          />
          <Params
            params={auth.params}
            onChange={(params) => onChange({ ...auth, params })}
            problems={problems}
            field={`${field}/params`}
            lost={lost}
            disabled={disabled}
          />
        </>
      )}
    </>
  );
}

interface ParamsProps extends Omit<Props, 'auth' | 'onChange'> {
  params: ParamDraft[];
  onChange: (params: ParamDraft[]) => void;
}

/** Further form fields of the token request. */
function Params({ params, onChange, problems, field, lost, disabled }: ParamsProps) {
  return (
    <ListField
      rows={params}
      onChange={onChange}
      added={{ name: '', secret: NO_SECRET }}
      addLabel={words.addParameter}
      removeLabel={words.remove}
      disabled={disabled}
    >
      {(param, change, i) => (
        <>
          <TextInput
            label={words.parameter}
            value={param.name}
            onChange={(event) =>
              change({ name: event.target.value.trim(), secret: { ...param.secret, kept: false } })
            }
            error={problems.get(`${field}/${i}`) ?? problems.get(`${field}/${param.name}`)}
          />
          <SecretInput
            label={words.parameterValue}
            secret={param.secret}
            lost={lost}
            onChange={(secret) => change({ ...param, secret })}
          />
        </>
      )}
    </ListField>
  );
}
