import { useEffect, useRef, useState } from 'preact/hooks';
import type { View } from '../model/location.ts';
import { type Problem, send } from '../net/send.ts';
import { getRequest, useApp } from './context.ts';
import { Link, Scroll } from './parts.tsx';

const hints: Readonly<Record<number, string>> = {
  401: 'Sign in to continue. What you typed stays here.',
  403: 'The application denies this request for the current user. Another user may be allowed to do it.',
  404: 'It does not exist, or the current user may not see it.',
  429: 'There were too many requests. Wait a moment, then try again.',
};

interface ProblemProps {
  readonly problem: Problem;
  /** Stands in place of the detail. */
  readonly text?: string;
  readonly onRetry?: () => void;
  /** The view without the parameters that were rejected. */
  readonly reset?: View;
  readonly focus?: boolean;
}

/** Why a request was rejected, and what to do. */
export function ProblemBox({ problem, text = problem.detail, onRetry, reset, focus }: ProblemProps) {
  const { openSignIn, session } = useApp();
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (focus) ref.current?.focus();
  }, [problem]);
  const hint = hints[problem.status];
  return (
    <div class={`problem ${problem.status === 401 ? 'note' : ''}`} role="alert" tabIndex={-1} ref={ref}>
      <p class="problem-title">
        <strong>{problem.title}</strong> {problem.status > 0 && <span class="badge">{problem.status}</span>}
      </p>
      {text !== '' && (
        <p>
          <bdi>{text}</bdi>
        </p>
      )}
      {hint !== undefined && <p>{hint}</p>}
      <p class="row">
        {(problem.status === 401 || (problem.status === 403 && Object.keys(session.schemes).length > 0)) && (
          <button type="button" class="primary" onClick={openSignIn}>
            {problem.status === 401 ? 'Sign in' : 'Sign in as another user'}
          </button>
        )}
        {problem.status === 400 && reset && (
          <Link class="button" to={reset}>
            Start again without parameters
          </Link>
        )}
        {onRetry && (
          <button type="button" onClick={onRetry}>
            Try again
          </button>
        )}
      </p>
      {problem.status === 403 && <Explanation problem={problem} />}
    </div>
  );
}

/** The access decision as `declarest explain` prints it, in development. */
function Explanation({ problem }: { readonly problem: Problem }) {
  const { session, settings } = useApp();
  const [text, setText] = useState<string | null>(null);
  if (settings.explain === null) return null;
  const { method, target } = problem.request;
  const address = `${settings.explain}?method=${method}&path=${encodeURIComponent(target)}`;
  const load = async (event: Event) => {
    event.preventDefault();
    const answer = await send(session, getRequest(address));
    const body = answer.ok ? answer.body : answer.problem.detail;
    setText(typeof body === 'string' ? body : JSON.stringify(body, null, 2));
  };
  return (
    <>
      <p>
        <a href={address} onClick={load}>
          Explain this decision
        </a>
      </p>
      {text !== null && (
        <Scroll label="Explanation" class="code">
          <pre>{text}</pre>
        </Scroll>
      )}
    </>
  );
}
