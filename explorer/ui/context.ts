import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import type { SentRequest } from '../model/code.ts';
import type { Catalogue } from '../model/document.ts';
import { addressOf, type View } from '../model/location.ts';
import { type Answer, send } from '../net/send.ts';
import type { Session } from '../net/session.ts';
import type { Settings } from '../settings.ts';

export interface App {
  readonly settings: Settings;
  readonly catalogue: Catalogue;
  readonly session: Session;
  readonly view: View;
  /** Grows when another caller signs in, so that views load again. */
  readonly caller: number;
  /** Shows another view. `state` is kept with the entry of the history. */
  readonly go: (view: View, options?: { readonly replace?: boolean; readonly state?: object | null }) => void;
  /** Says something to screen readers, and shows it for a moment. */
  readonly announce: (text: string) => void;
  readonly openSignIn: () => void;
  /** Whether a link was followed: then the heading of the new view takes the focus. */
  readonly hasMoved: boolean;
}

export const AppContext = createContext<App>(null as never);

export function useApp(): App {
  return useContext(AppContext);
}

export function useHref(): (view: View) => string {
  const { settings } = useApp();
  return (view) => addressOf(settings.mount, view);
}

export interface Loaded {
  /** The last response; null while the first one is loading. */
  readonly answer: Answer | null;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/** Sends a GET request, again whenever its target or the caller changes. Null sends nothing. */
export function useGet(target: string | null): Loaded {
  const { caller, session } = useApp();
  const [state, setState] = useState<{ answer: Answer | null; key: string; caller: number }>({ answer: null, key: '', caller });
  const [attempt, setAttempt] = useState(0);
  const key = `${caller} ${attempt} ${target}`;
  useEffect(() => {
    if (target === null) return;
    const aborter = new AbortController();
    send(session, getRequest(target), aborter.signal).then(
      (answer) => setState({ answer, key, caller }),
      () => {},
    );
    return () => aborter.abort();
  }, [key]);
  const reload = () => setAttempt((count) => count + 1);
  // what another caller saw is not shown any more
  return { answer: state.caller === caller ? state.answer : null, isLoading: target !== null && state.key !== key, reload };
}

export function getRequest(target: string): SentRequest {
  return { method: 'GET', target, headers: {} };
}
