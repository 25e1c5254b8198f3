import { Alert, Button, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useEffect, useState } from 'react';
import { ApiProblem } from '../../../shared/api/client';
import { type Session } from '../../../shared/api/operations';
import { call } from '../lib/api';
import { sayProblem } from '../lib/problems';

/**
 * The token goes from its field to the API once, and the page forgets it. Only a cookie remains, which scripts cannot
 * read.
 */
export function SignIn({ expired, onSignedIn }: { expired: boolean; onSignedIn: (session: Session) => void }) {
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    document.title = 'Sign in · Waypost';
  }, []);
  const signIn = () => {
    setBusy(true);
    setProblem(undefined);
    call('POST /session', { body: { token: token.trim() } })
      .then(
        ({ data }) => {
          setToken('');
          onSignedIn(data);
        },
        (error: unknown) => {
          const unknown = error instanceof ApiProblem && error.status === 401;
          setProblem(unknown ? 'Unknown token. Did you copy all of it?' : sayProblem(error));
        },
      )
      .finally(() => setBusy(false));
  };
  return (
    <main className="sign-in">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          signIn();
        }}
      >
        <Stack>
          <Title order={1}>Waypost</Title>
          <Text>Analytics calls in, signed webhooks out.</Text>
          {expired && (
            <Alert color="yellow" role="status">
              Your session has ended. Sign in to return to this page.
            </Alert>
          )}
          <PasswordInput
            label="Token"
            description="The admin token that Waypost printed at start, or a token from an administrator"
            value={token}
            onChange={(event) => setToken(event.target.value)}
            error={problem}
            autoComplete="off"
            required
            autoFocus
            visibilityToggleButtonProps={{ 'aria-label': 'Show the token', tabIndex: 0 }}
          />
          <Button type="submit" loading={busy} disabled={token.trim() === ''}>
            Sign in
          </Button>
        </Stack>
      </form>
    </main>
  );
}
