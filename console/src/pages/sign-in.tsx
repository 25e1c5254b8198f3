import { Alert, Button, PasswordInput, Stack, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { ApiProblem } from '../../../shared/api/client';
import { type Session } from '../../../shared/api/operations';
import { call } from '../lib/api';
import { sayProblem } from '../lib/problems';
import { text } from '../texts';

const words = text.administration.signIn;

/**
 * The token goes from its field to the API once, and the page forgets it. Only a cookie remains,
 * which scripts cannot read.
 */
export function SignIn({
  expired,
  onSignedIn,
}: {
  expired: boolean;
  onSignedIn: (session: Session) => void;
}) {
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    document.title = words.title;
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
          setProblem(unknown ? words.unknownToken : sayProblem(error));
        },
      )
      .finally(() => setBusy(false));
  };
  return (
    <main className="sign-in">
      <form
        className="card"
        onSubmit={(event) => {
          event.preventDefault();
          signIn();
        }}
      >
        <Stack>
          <h1 className="brand">
            <img src="/icon.svg" width="28" height="28" alt="" />
            {words.waypost}
          </h1>
          <Text className="quiet">{words.slogan}</Text>
          {expired && (
            <Alert color="yellow" role="status">
              {words.sessionEnded}
            </Alert>
          )}
          <PasswordInput
            label={words.token}
            description={words.tokenHint}
            value={token}
            onChange={(event) => setToken(event.target.value)}
            error={problem}
            autoComplete="off"
            required
            autoFocus
            visibilityToggleButtonProps={{ 'aria-label': words.showToken, tabIndex: 0 }}
          />
          <Button type="submit" loading={busy} disabled={token.trim() === ''}>
            {words.signIn}
          </Button>
        </Stack>
      </form>
    </main>
  );
}
