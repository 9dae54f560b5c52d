import { useEffect, useState } from 'preact/hooks';
import { useApp } from './context.ts';
import { Dialog } from './parts.tsx';

interface SampleUser {
  readonly name: string;
  /** The path of a token as text. */
  readonly token: string;
}

/** Sign-in in place: whatever is open stays open. */
export function SignIn({ onClose }: { readonly onClose: () => void }) {
  const { announce, session, settings } = useApp();
  const schemes = Object.entries(session.schemes);
  const [scheme, setScheme] = useState(schemes[0]?.[0] ?? '');
  const [secret, setSecret] = useState('');
  const [isRemembered, setRemembered] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const users = useSampleUsers(settings.sampleUsers);

  const signIn = (name: string, value: string, user: string | null) => {
    session.signIn(name, value, user, isRemembered);
    announce(`Signed in: ${session.name}`);
    onClose();
  };
  const submit = (event: Event) => {
    event.preventDefault();
    const value = secret.trim().replace(/^Bearer\s+/i, '');
    if (value === '') setFault('Paste a token first.');
    else if (!/^[\x21-\x7e]+$/.test(value)) setFault('A token has no spaces, line breaks or accented letters: copy it again.');
    else signIn(scheme, value, null);
  };
  const pick = async ({ name, token }: SampleUser) => {
    const response = await fetch(token);
    const bearer = schemes.find(([, { type }]) => type === 'http')?.[0] ?? scheme;
    if (response.ok) signIn(bearer, (await response.text()).trim(), name);
    else setFault(`There is no token for ${name} (status ${response.status}).`);
  };
  return (
    <Dialog title="Sign in" onClose={onClose}>
      <form class="stack" onSubmit={submit} noValidate>
        {users.length > 0 && (
          <fieldset class="choices">
            <legend>Sample users</legend>
            {users.map((user) => (
              <button type="button" key={user.name} onClick={() => pick(user)}>
                <bdi>{user.name}</bdi>
              </button>
            ))}
          </fieldset>
        )}
        {settings.login !== null && (
          <p>
            <a class="button" href={settings.login}>
              Open the login page
            </a>
          </p>
        )}
        {schemes.length > 0 && (
          <>
            {schemes.length > 1 && (
              <label>
                Kind of credential
                <select value={scheme} onChange={(event) => setScheme(event.currentTarget.value)}>
                  {schemes.map(([name, { type }]) => (
                    <option key={name} value={name}>
                      {type === 'apiKey' ? 'API key' : 'Token'}
                    </option>
                  ))}
                </select>
              </label>
            )}
            <label>
              {session.schemes[scheme]?.type === 'apiKey' ? 'API key' : 'Token'}
              <textarea
                rows={3}
                value={secret}
                spellcheck={false}
                autocomplete="off"
                aria-invalid={fault !== null}
                aria-describedby={fault === null ? undefined : 'sign-in-fault'}
                onInput={(event) => setSecret(event.currentTarget.value)}
              />
            </label>
            {fault !== null && (
              <p class="fault" id="sign-in-fault" role="alert">
                {fault}
              </p>
            )}
            <label class="check">
              <input type="checkbox" checked={isRemembered} onChange={(event) => setRemembered(event.currentTarget.checked)} />
              Remember in this browser
            </label>
            <p class="soft">Without this, the token stays in memory until you close or reload the page.</p>
            <p class="row end">
              <button type="button" onClick={onClose}>
                Cancel
              </button>
              <button type="submit" class="primary">
                Sign in
              </button>
            </p>
          </>
        )}
      </form>
    </Dialog>
  );
}

function useSampleUsers(address: string | null): readonly SampleUser[] {
  const [users, setUsers] = useState<readonly SampleUser[]>([]);
  useEffect(() => {
    if (address === null) return;
    fetch(address)
      .then(async (response) => setUsers(response.ok ? ((await response.json()) as SampleUser[]) : []))
      .catch(() => setUsers([]));
  }, [address]);
  return users;
}
