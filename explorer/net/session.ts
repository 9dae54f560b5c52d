import type { Credential } from '../model/code.ts';
import type { SecurityScheme } from '../model/document.ts';
import { forgetDrafts } from './drafts.ts';
import { randomKey } from './random-key.ts';

const storageKey = 'declarest-explorer-credential';

interface Signed {
  /** The name of the security scheme in the document. */
  readonly scheme: string;
  readonly secret: string;
  /** The name of the caller in the header of the page. */
  readonly name: string;
  /** Tells callers apart, without the secret. */
  readonly identity: string;
}

export type Session = ReturnType<typeof openSession>;

/** The signed-in user. The token stays in memory, unless the user asks to remember it in this browser. */
export function openSession(schemes: Readonly<Record<string, SecurityScheme>>) {
  let signed: Signed | null = remembered();
  let changes = 0;
  let signOuts = 0;
  const listeners = new Set<() => void>();
  /** Requests that were refused with 403, as `POST /api/person.json`. They are not offered again to the same caller. */
  const refused = new Set<string>();

  function change(next: Signed | null): void {
    signed = next;
    changes++;
    refused.clear();
    for (const listener of [...listeners]) listener();
  }

  return {
    schemes,
    refused,
    get name() {
      return signed?.name ?? null;
    },
    /** Identifies the caller, so that no other caller is shown the same data. Null for anonymous callers. */
    get identity() {
      return signed?.identity ?? null;
    },
    /** Grows whenever a caller signs out. */
    get signOuts() {
      return signOuts;
    },
    /** Grows whenever another caller signs in or out. */
    get changes() {
      return changes;
    },
    /** The header of the credential; null for anonymous callers. */
    get credential(): Credential | null {
      return signed ? credentialOf(schemes[signed.scheme]) : null;
    },
    headers(): Record<string, string> {
      const credential = signed && credentialOf(schemes[signed.scheme]);
      return signed && credential ? { [credential.header]: `${credential.prefix}${signed.secret}` } : {};
    },
    signIn(scheme: string, secret: string, name: string | null, remember: boolean) {
      const subject = subjectOf(secret);
      const next = {
        scheme,
        secret,
        name: name ?? (subject === null ? 'Signed in' : `User ${subject.slice(0, 40)}`),
        // an opaque token does not tell whose it is
        identity: subject === null ? randomKey() : `${scheme} ${subject}`,
      };
      if (remember) localStorage.setItem(storageKey, JSON.stringify(next));
      else localStorage.removeItem(storageKey);
      change(next);
    },
    signOut() {
      localStorage.removeItem(storageKey);
      forgetDrafts();
      signOuts++;
      change(null);
    },
    refuse(request: string) {
      refused.add(request);
    },
    listen(listener: () => void) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}

function credentialOf(scheme: SecurityScheme | undefined): Credential {
  return scheme?.type === 'apiKey'
    ? { header: scheme.name ?? 'X-Api-Key', prefix: '' }
    : { header: 'Authorization', prefix: 'Bearer ' };
}

function remembered(): Signed | null {
  try {
    return JSON.parse(localStorage.getItem(storageKey) ?? 'null') as Signed | null;
  } catch {
    return null;
  }
}

/** The subject of a JWT, to show who is signed in. The server checks the token, not this page. */
function subjectOf(token: string): string | null {
  try {
    const payload = token.split('.')[1] ?? '';
    const { sub } = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) as { sub?: unknown };
    return sub === undefined ? null : String(sub);
  } catch {
    return null;
  }
}
