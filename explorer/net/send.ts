import type { SentRequest } from '../model/code.ts';
import type { Session } from './session.ts';

export interface Violation {
  readonly propertyPath: string;
  readonly title: string;
}

export interface Problem {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly code: string | null;
  readonly violations: readonly Violation[];
  /** The request that was rejected. */
  readonly request: SentRequest;
}

export type Answer =
  | {
      readonly ok: true;
      readonly status: number;
      readonly body: unknown;
      readonly tag: string | null;
      readonly location: string | null;
    }
  | { readonly ok: false; readonly problem: Problem };

/** Sends an ordinary request with the credential of the caller. It never throws, except if it is aborted. */
export async function send(session: Session, request: SentRequest, signal?: AbortSignal): Promise<Answer> {
  const { body, headers, method, target } = request;
  if (/\/\.{1,2}(?:\/|$)/.test(target.split('?', 1)[0] as string)) {
    const detail = 'Browsers remove dots from paths, so this request would go to another path. Use another program.';
    return { ok: false, problem: { status: 0, title: 'Not sent', detail, code: null, violations: [], request } };
  }
  let response: Response;
  let text: string;
  try {
    response = await fetch(target, {
      method,
      headers: {
        Accept: 'application/json',
        ...session.headers(),
        ...headers,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      // the browser would answer a conditional request from its own cache
      cache: 'no-store',
      ...(signal && { signal }),
    });
    text = await response.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    const detail = 'The server did not respond. Check the connection and try again: nothing that you typed is lost.';
    return { ok: false, problem: { status: 0, title: 'No response', detail, code: null, violations: [], request } };
  }
  const parsed = parse(text);
  if (response.ok || response.status === 304)
    return {
      ok: true,
      status: response.status,
      body: parsed,
      tag: response.headers.get('etag'),
      location: response.headers.get('location'),
    };
  if (response.status === 403) session.refuse(`${method} ${target.split('?', 1)[0]}`);
  return { ok: false, problem: problemOf(response.status, parsed, request) };
}

function parse(text: string): unknown {
  try {
    return text === '' ? null : (JSON.parse(text) as unknown);
  } catch {
    return text;
  }
}

function problemOf(status: number, body: unknown, request: SentRequest): Problem {
  const { code, detail, title, violations } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  return {
    status,
    title: typeof title === 'string' ? title : `Status ${status}`,
    detail: typeof detail === 'string' ? detail : typeof body === 'string' ? body.slice(0, 500) : '',
    code: typeof code === 'string' ? code : null,
    violations: Array.isArray(violations) ? violations.filter(isViolation) : [],
    request,
  };
}

function isViolation(value: unknown): value is Violation {
  const { propertyPath, title } = (value ?? {}) as Partial<Violation>;
  return typeof propertyPath === 'string' && typeof title === 'string';
}

/** A strong tag can be a precondition. A weak one never matches. */
export function isStrong(tag: string | null): tag is string {
  return tag !== null && !tag.startsWith('W/');
}
