import { MantineProvider, Modal } from '@mantine/core';
import { QueryClientProvider, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { createBrowserRouter, Route, RouterProvider, Routes } from 'react-router';
import { type Session } from '../../shared/api/operations';
import { call, createQueries } from './lib/api';
import { isSignedOut } from './lib/problems';
import { mayHaveSession, rememberUntil } from './lib/last-visited';
import { SessionProvider } from './lib/session';
import { Connect } from './connect/connect';
import { Alerts } from './pages/alerts';
import { AudiencePage, TraitPage } from './pages/audience';
import { Audiences, ComputedTraits } from './pages/audiences';
import { Audit } from './pages/audit';
import { Debugger } from './pages/debugger';
import { Deletions } from './pages/deletions';
import { Deliveries } from './pages/deliveries';
import { DeliveryPage } from './pages/delivery';
import { DestinationPage } from './pages/destination';
import { Destinations } from './pages/destinations';
import { Lookup } from './pages/lookup';
import { NewAudience, NewTrait } from './pages/new-audience';
import { Notices } from './pages/notices';
import { Overview } from './pages/overview';
import { ReplayPage } from './pages/replay';
import { Replays } from './pages/replays';
import { SignIn } from './pages/sign-in';
import { SourcePage } from './pages/source';
import { Sources } from './pages/sources';
import { Tokens } from './pages/tokens';
import { Shell } from './shell';
import { ToastProvider } from './ui/toast';
import { Empty, Failure, Page, TextLink, Waiting } from './ui/ui';
import { UnsavedProvider } from './ui/unsaved';
import { text } from './texts';

const words = text.shell.app;

const THEME = {
  respectReducedMotion: true,
  components: {
    Modal: Modal.extend({
      defaultProps: {
        // Locking the page's scrolling would need an inline style, which the CSP refuses.
        lockScroll: false,
        closeButtonProps: { 'aria-label': text.ui.ui.close },
        // Otherwise a screen reader takes it for a second header of the page.
        attributes: { header: { role: 'presentation' } },
      },
    }),
  },
};

/** The whole application: session and routes. */
export function App() {
  const queries = useMemo(createQueries, []);
  const router = useMemo(() => createBrowserRouter([{ path: '*', element: <Gate /> }]), []);
  return (
    // style.css contains the styles that Mantine would write into style elements: the CSP allows
    // only files.
    <MantineProvider
      theme={THEME}
      defaultColorScheme="auto"
      withCssVariables={false}
      withGlobalClasses={false}
    >
      <QueryClientProvider client={queries}>
        <ToastProvider>
          <RouterProvider router={router} />
        </ToastProvider>
      </QueryClientProvider>
    </MantineProvider>
  );
}

/**
 * Shows the sign-in in place of the page while the session is missing. The address stays, so the
 * page appears afterwards.
 */
function Gate() {
  const { state, setSession, askAgain, signOut } = useGate();
  if (state.at === 'asking') return <Waiting for={words.yourSession} />;
  if (state.at === 'away') {
    return <Failure error={state.error} what={words.readSession} retry={askAgain} />;
  }
  if (state.at === 'out') return <SignIn expired={state.expired} onSignedIn={setSession} />;
  return (
    <SessionProvider value={{ session: state.session, signOut }}>
      <UnsavedProvider>
        <Shell>
          <Pages />
        </Shell>
      </UnsavedProvider>
    </SessionProvider>
  );
}

type GateState =
  | { at: 'asking' }
  | { at: 'away'; error: unknown }
  | { at: 'out'; expired: boolean }
  | { at: 'in'; session: Session };

function useGate() {
  const queries = useQueryClient();
  const [state, setState] = useState<GateState>(
    mayHaveSession(Date.now()) ? { at: 'asking' } : { at: 'out', expired: false },
  );
  const setSession = useCallback((session: Session | null) => {
    if (session?.expiresAt != null) rememberUntil(session.expiresAt);
    if (!session) rememberUntil(null);
    setState(session ? { at: 'in', session } : { at: 'out', expired: false });
  }, []);
  const expire = useCallback(() => {
    rememberUntil(null);
    queries.clear();
    setState({ at: 'out', expired: true });
  }, [queries]);
  useEffect(() => {
    if (state.at !== 'asking') return;
    call('GET /session', {}).then(
      ({ data }) => setSession(data),
      (error: unknown) => {
        // An unreachable control does not end the session: the page asks again.
        if (isSignedOut(error)) expire();
        else setState({ at: 'away', error });
      },
    );
  }, [state.at, setSession, expire]);
  useEffect(() => {
    // On any page, a response that says "not signed in" ends the session.
    const heed = ({
      type,
      action,
    }: {
      type: string;
      action?: { type: string; error?: unknown };
    }) => {
      if (type === 'updated' && action?.type === 'error' && isSignedOut(action.error)) expire();
    };
    const stops = [
      queries.getQueryCache().subscribe(heed),
      queries.getMutationCache().subscribe(heed),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }, [queries, expire]);
  const askAgain = useCallback(() => {
    setState({ at: 'asking' });
  }, []);
  const signOut = useCallback(() => {
    call('DELETE /session', {}).then(
      () => {
        queries.clear();
        setSession(null);
      },
      // The cookie is still valid: do not claim that the user is signed out.
      (error: unknown) => {
        setState({ at: 'away', error });
      },
    );
  }, [queries, setSession]);
  return { state, setSession, askAgain, signOut };
}

function Pages() {
  return (
    <Routes>
      <Route index element={<Overview />} />
      <Route path="connect/:id?/:step?" element={<Connect />} />
      <Route path="destinations" element={<Destinations />} />
      <Route path="destinations/:id/:tab?" element={<DestinationPage />} />
      <Route path="deliveries" element={<Deliveries />} />
      <Route path="deliveries/:id" element={<DeliveryPage />} />
      <Route path="lookup" element={<Lookup />} />
      <Route path="replays" element={<Replays />} />
      <Route path="replays/:id" element={<ReplayPage />} />
      <Route path="debugger" element={<Debugger />} />
      <Route path="sources" element={<Sources />} />
      <Route path="sources/:id/:tab?" element={<SourcePage />} />
      <Route path="audiences" element={<Audiences />} />
      <Route path="audiences/new" element={<NewAudience />} />
      <Route path="audiences/:id/:tab?" element={<AudiencePage />} />
      <Route path="audiences/traits" element={<ComputedTraits />} />
      <Route path="audiences/traits/new" element={<NewTrait />} />
      <Route path="audiences/traits/:id/:tab?" element={<TraitPage />} />
      <Route path="deletions" element={<Deletions />} />
      <Route path="alerts" element={<Alerts />} />
      <Route path="notices" element={<Notices />} />
      <Route path="audit" element={<Audit />} />
      <Route path="tokens" element={<Tokens />} />
      <Route path="*" element={<Nowhere />} />
    </Routes>
  );
}

function Nowhere() {
  return (
    <Page title={words.pageNotFound}>
      <Empty title={words.nowhere}>
        <TextLink to="/">{words.toOverview}</TextLink>
      </Empty>
    </Page>
  );
}
