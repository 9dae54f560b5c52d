import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useErrorBoundary, useMemo, useRef, useState } from 'preact/hooks';
import { wordsOf } from '../model/columns.ts';
import type { Api, Catalogue, Operation } from '../model/document.ts';
import { addressOf, type View, viewOf } from '../model/location.ts';
import { saveDraft } from '../net/drafts.ts';
import type { Session } from '../net/session.ts';
import type { Settings } from '../settings.ts';
import { ActionView } from './action-view.tsx';
import { type App, AppContext, useApp } from './context.ts';
import { CountsView } from './counts-view.tsx';
import { EntityView } from './entity-view.tsx';
import { FormView } from './form-view.tsx';
import { Home } from './home.tsx';
import { actionName, ListView } from './list-view.tsx';
import { Heading } from './parts.tsx';
import { missingPlaceholders, Placeholders } from './placeholders.tsx';
import { Sidebar } from './sidebar.tsx';
import { SignIn } from './sign-in.tsx';
import { TopBar } from './top-bar.tsx';

interface ExplorerProps {
  readonly settings: Settings;
  readonly catalogue: Catalogue;
  readonly session: Session;
}

export function Explorer({ settings, catalogue, session }: ExplorerProps) {
  const current = () => viewOf(settings.mount, location.pathname, location.search);
  const [view, setView] = useState<View>(current);
  const [caller, setCaller] = useState(session.changes);
  const [message, setMessage] = useState('');
  const [isSigningIn, setSigningIn] = useState(false);
  const hasMoved = useRef(false);

  useEffect(() => session.listen(() => setCaller(session.changes)), []);
  useEffect(() => {
    const show = () => {
      hasMoved.current = true;
      setView(current());
    };
    addEventListener('popstate', show);
    return () => removeEventListener('popstate', show);
  }, []);
  useEffect(() => {
    if (message === '') return;
    const timer = setTimeout(() => setMessage(''), 6000);
    return () => clearTimeout(timer);
  }, [message]);
  useEffect(() => {
    document.title = [...titleOf(view), catalogue.title].join(' · ');
  }, [view]);

  const go = useCallback<App['go']>((next, { replace = false, state = null } = {}) => {
    const address = addressOf(settings.mount, next);
    hasMoved.current = true;
    // rows in the history are those of the caller who saw them
    const kept = state && { ...state, owner: session.identity };
    if (replace) history.replaceState(kept, '', address);
    else {
      history.pushState(kept, '', address);
      // the heading of the new view takes the focus
      (document.activeElement as HTMLElement | null)?.blur?.();
      scrollTo(0, 0);
    }
    setView(viewOf(settings.mount, location.pathname, location.search));
  }, []);
  const openSignIn = useCallback(() => setSigningIn(true), []);
  const app = useMemo(
    () => ({ settings, catalogue, session, view, caller, go, announce: setMessage, openSignIn, hasMoved: hasMoved.current }),
    [view, caller],
  );
  return (
    <AppContext.Provider value={app}>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <TopBar />
      <div class="shell">
        <Sidebar />
        <main id="content" tabIndex={-1}>
          <Guarded key={`${session.signOuts} ${location.pathname}`}>
            <CurrentView view={view} catalogue={catalogue} />
          </Guarded>
        </main>
      </div>
      <div class={message === '' ? 'toast' : 'toast shown'} role="status" aria-live="polite">
        {message}
      </div>
      {isSigningIn && <SignIn onClose={() => setSigningIn(false)} />}
    </AppContext.Provider>
  );
}

/** A view that fails leaves the rest of the page usable. A draft that does not fit the form any more is the likely cause. */
function Guarded({ children }: { readonly children: ComponentChildren }) {
  const { settings, view } = useApp();
  const [error, retry] = useErrorBoundary();
  if (!error) return <>{children}</>;
  const discard = () => {
    saveDraft(addressOf(settings.mount, view), null);
    retry();
  };
  return (
    <>
      <h1>This view could not be shown</h1>
      <div class="problem" role="alert">
        <p>
          <bdi>{String(error)}</bdi>
        </p>
        <p>What you typed here earlier may not fit any more, for example because a model was changed.</p>
        <p class="row">
          <button type="button" onClick={discard}>
            Discard it and try again
          </button>
        </p>
      </div>
    </>
  );
}

function CurrentView({ view, catalogue }: { readonly view: View; readonly catalogue: Catalogue }) {
  if (view.kind === 'home') return <Home />;
  const api = catalogue.apis.find(({ name }) => name === view.api);
  if (!api)
    return (
      <>
        <Heading focusKey={view.api}>Unknown API</Heading>
        <p>
          This application has no API with the name <code>{view.api}</code>. Choose one from the menu.
        </p>
      </>
    );
  const operation = operationOf(api, view);
  if (view.kind !== 'list' && operation && missingPlaceholders(operation, view.query).length > 0)
    return (
      <>
        <Heading focusKey={view.api}>{wordsOf(api.name)}</Heading>
        <Placeholders operation={operation} query={view.query} />
      </>
    );
  switch (view.kind) {
    case 'list':
      return <ListView key={api.name} api={api} query={view.query} />;
    case 'counts':
      return <CountsView key={`${api.name} counts`} api={api} query={view.query} />;
    case 'create':
      return <FormView key={`${api.name} new`} api={api} id={null} query={view.query} />;
    case 'edit':
      return <FormView key={`${api.name} ${view.id} edit`} api={api} id={view.id} query={view.query} />;
    case 'entity':
      return <EntityView key={`${api.name} ${view.id}`} api={api} id={view.id} query={view.query} />;
    case 'action':
      return <ActionView key={`${api.name} ${view.id} ${view.method} ${view.action}`} api={api} view={view} />;
  }
}

/** The operation whose path a view needs. */
function operationOf(api: Api, view: View): Operation | null {
  if (view.kind === 'action')
    return api.actions.find((each) => actionName(each) === view.action && each.method === view.method) ?? null;
  return [api.get, api.create, api.patch, api.put, api.remove, api.list].find((each) => each !== null) ?? null;
}

function titleOf(view: View): string[] {
  if (view.kind === 'home') return ['Explorer'];
  const api = wordsOf(view.api);
  if (view.kind === 'counts') return ['Counts', api];
  if (view.kind === 'create') return [`New · ${api}`];
  if (view.kind === 'action') return [wordsOf(view.action), api];
  return view.kind === 'list' ? [api] : [`${view.kind === 'edit' ? 'Edit ' : ''}${view.id}`, api];
}
