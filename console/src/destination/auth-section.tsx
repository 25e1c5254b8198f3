import { Button, Group, NativeSelect, Stack, TextInput } from '@mantine/core';
import { Disclosure } from '../ui/disclosure';
import { type AuthDraft, type AuthType, NO_SECRET, type ParamDraft, SECRET_FIELDS, withType } from './auth-draft';
import { problemAt } from './field-values';
import { SecretInput } from './secret-input';

/** The authentication of a URL. */

const TYPES: Record<AuthType, string> = {
  basic: 'HTTP Basic',
  bearer: 'Bearer token',
  header: 'Header with an API key',
  oauth2: 'OAuth2 client credentials',
  pagerduty: 'PagerDuty routing key',
};

const SECRETS: Record<AuthType, string> = {
  basic: 'Password',
  bearer: 'Token',
  header: 'Key',
  oauth2: 'Client secret',
  pagerduty: 'Routing key',
};

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

export function AuthSection({ auth, onChange, problems, field, lost, disabled }: Props) {
  const options = Object.entries(TYPES).map(([value, label]) => ({ value, label }));
  const fields = { problems, field, lost, disabled };
  return (
    <Disclosure title="Authentication" summary={auth ? TYPES[auth.type] : 'none'} problem={problemAt(problems, field)}>
      <Stack gap="sm">
        <NativeSelect
          label="Authenticate by"
          data={[{ value: '', label: 'nothing' }, ...options]}
          value={auth?.type ?? ''}
          error={problems.get(field)}
          onChange={({ target: { value } }) => onChange(value === '' ? undefined : withType(auth, value as AuthType))}
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
    onChange: (event: { target: { value: string } }) => onChange({ ...auth, [name]: event.target.value }),
  });
  return (
    <>
      {auth.type === 'basic' && <TextInput label="User name" {...text('username')} />}
      {auth.type === 'header' && <TextInput label="API key header" placeholder="X-Api-Key" {...text('name')} />}
      {auth.type === 'oauth2' && (
        <>
          <TextInput label="Token URL" type="url" inputMode="url" {...text('tokenUrl')} />
          <TextInput label="Client id" {...text('clientId')} />
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
          <TextInput label="Scope" description="Separated by spaces. Optional" {...text('scope')} />
          <TextInput label="Audience" description="Optional" {...text('audience')} />
          <NativeSelect
            label="Send id and secret"
            data={[
              { value: 'basic', label: 'in the Authorization header' },
              { value: 'body', label: 'in the form' },
            ]}
            value={auth.clientAuth}
            onChange={({ target: { value } }) => onChange({ ...auth, clientAuth: value === 'body' ? 'body' : 'basic' })}
          />
          <Params
            params={auth.params}
            onChange={(params) => onChange({ ...auth, params })}
            {...{ problems, field: `${field}/params`, lost, disabled }}
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
  const change = (at: number, param: ParamDraft) => onChange(params.map((old, i) => (i === at ? param : old)));
  return (
    <Stack gap="xs">
      {params.map((param, i) => (
        // The key is the position, because the user edits the name.
        <Group key={`param-${i}`} align="flex-start" gap="xs">
          <TextInput
            label="Parameter"
            value={param.name}
            onChange={(event) =>
              change(i, { name: event.target.value.trim(), secret: { ...param.secret, kept: false } })
            }
            error={problems.get(`${field}/${i}`) ?? problems.get(`${field}/${param.name}`)}
          />
          <SecretInput
            label="Parameter value"
            secret={param.secret}
            lost={lost}
            onChange={(secret) => change(i, { ...param, secret })}
          />
          {!disabled && (
            <Button
              className="beside-field"
              variant="default"
              onClick={() => onChange(params.filter((_, other) => other !== i))}
            >
              Remove
            </Button>
          )}
        </Group>
      ))}
      {!disabled && (
        <Button
          className="start"
          size="xs"
          variant="default"
          onClick={() => onChange([...params, { name: '', secret: NO_SECRET }])}
        >
          Add a parameter
        </Button>
      )}
    </Stack>
  );
}
