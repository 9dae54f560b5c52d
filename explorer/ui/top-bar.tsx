import { useApp } from './context.ts';
import { Link } from './parts.tsx';

export function TopBar() {
  const { announce, catalogue, openSignIn, session, settings } = useApp();
  const needsSignIn = Object.keys(session.schemes).length > 0 || settings.login !== null;
  const signOut = () => {
    session.signOut();
    announce('Signed out');
  };
  return (
    <header class="top-bar">
      <Link to={{ kind: 'home' }} class="brand">
        <bdi>{catalogue.title}</bdi> <span class="soft">Explorer</span>
      </Link>
      {needsSignIn && (
        <div class="row">
          {session.name === null ? (
            <button type="button" class="primary" onClick={openSignIn}>
              Sign in
            </button>
          ) : (
            <>
              <button type="button" class="quiet user" onClick={openSignIn} title="Sign in as another user">
                <bdi>{session.name}</bdi>
              </button>
              <button type="button" onClick={signOut}>
                Sign out
              </button>
            </>
          )}
        </div>
      )}
    </header>
  );
}
