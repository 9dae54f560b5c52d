import { useRef, useState } from 'preact/hooks';
import { isEqual } from '../model/changes.ts';
import type { SentRequest } from '../model/code.ts';
import type { Api } from '../model/document.ts';
import { requestTarget } from '../model/location.ts';
import type { StoredDraft } from '../net/drafts.ts';
import { type Answer, isStrong, type Problem, send } from '../net/send.ts';
import { getRequest, useApp } from './context.ts';

type Row = Readonly<Record<string, unknown>>;

/** A version that somebody else stored in the meantime. */
interface Version {
  readonly row: Row;
  readonly tag: string | null;
}

interface Saved {
  readonly api: Api;
  readonly id: string | null;
  readonly query: string;
  readonly stored: StoredDraft;
}

/** Saves a form once, however often it is submitted, and finds out what is stored if somebody else was faster. */
export function useSaving({ api, id, query, stored }: Saved, onSaved: (row: Row) => void) {
  const { session } = useApp();
  const [problem, setProblem] = useState<Problem | null>(null);
  const [theirs, setTheirs] = useState<Version | null>(null);
  const [isBusy, setBusy] = useState(false);
  const isSending = useRef(false);
  const target = id !== null && api.get ? requestTarget(api.get, query, id) : null;

  const current = async (headers: Readonly<Record<string, string>>): Promise<Answer | null> =>
    target === null ? null : send(session, { ...getRequest(target), headers });

  /** A model without a version has weak tags, which cannot be preconditions: the form compares before it saves. */
  const changedMeanwhile = async ({ row, tag }: StoredDraft): Promise<Version | null> => {
    if (row === null || tag === null || isStrong(tag)) return null;
    const answer = await current({ 'If-None-Match': tag });
    if (!answer?.ok || answer.status === 304 || isEqual(answer.body, row)) return null;
    return { row: answer.body as Row, tag: answer.tag };
  };

  const save = async (request: SentRequest, base: StoredDraft = stored) => {
    if (isSending.current) return;
    isSending.current = true;
    setBusy(true);
    try {
      const changed = await changedMeanwhile(base);
      if (changed) {
        setTheirs(changed);
        setProblem(null);
        return;
      }
      const answer = await send(session, request);
      setTheirs(null);
      setProblem(answer.ok ? null : answer.problem);
      if (answer.ok) onSaved((answer.body ?? {}) as Row);
      else if (answer.problem.status === 412 || answer.problem.status === 409) await compare(base);
    } finally {
      isSending.current = false;
      setBusy(false);
    }
  };

  const compare = async ({ row }: StoredDraft) => {
    const answer = row === null ? null : await current({});
    if (!answer?.ok || isEqual(answer.body, row)) return;
    setTheirs({ row: answer.body as Row, tag: answer.tag });
  };

  return { problem, theirs, isBusy, save };
}
