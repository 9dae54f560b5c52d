import type { Draft } from '../model/draft.ts';

/** The state of a form that survives a reload. */
export interface StoredDraft {
  readonly draft: Draft;
  /** The row that was edited, as it was loaded; null for a new one. */
  readonly row: Readonly<Record<string, unknown>> | null;
  readonly tag: string | null;
  /** The caller who saw the row. */
  readonly owner: string | null;
  /** The idempotency key of the request that the form sends. */
  readonly key: string;
}

const prefix = 'declarest-explorer-draft:';

export function loadDraft(address: string): StoredDraft | null {
  try {
    return JSON.parse(sessionStorage.getItem(prefix + address) ?? 'null') as StoredDraft | null;
  } catch {
    return null;
  }
}

export function saveDraft(address: string, stored: StoredDraft | null): void {
  try {
    if (stored) sessionStorage.setItem(prefix + address, JSON.stringify(stored));
    else sessionStorage.removeItem(prefix + address);
  } catch {
    // the storage is full: the form works on, but a reload would lose it
  }
}

/** Forgets everything that was typed. The application may keep other things in the same storage. */
export function forgetDrafts(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(prefix)) sessionStorage.removeItem(key);
}
