import { hash } from 'node:crypto';
import type { Application } from '../../../src/application.ts';
import { openApiDocument } from '../../../src/openapi/document.ts';
import { findMatch } from '../../../src/route/match.ts';
import { DocumentChecker, type Exchange } from './document-judge.ts';

/** A response of an application that is to be checked. */
export interface RecordedResponse extends Omit<Exchange, 'query'> {
  readonly application: Application;
  /** Whether Declarest created the server. */
  readonly alone: boolean;
  /** Without the prefix of the application. */
  readonly path: string;
  readonly url: string;
}

const judges = new WeakMap<Application, DocumentChecker>();
const judged = new WeakMap<DocumentChecker, Set<string>>();

/** The differences between responses and the documents of their applications. */
export function checkResponses(answers: readonly RecordedResponse[]): string[] {
  return answers.flatMap((answer) => {
    const [path = '', ...query] = answer.path.split('?');
    const match = findMatch(answer.application.records, answer.method, path);
    if (!match) return [];
    const judge = judgeOf(answer);
    const described = match.record.path.replace('{_format}', match.format);
    const known = judged.get(judge) as Set<string>;
    const key = keyOf(described, answer);
    if (key !== null && known.has(key)) return [];
    const objections = judge.objections(described, { ...answer, query: query.join('?') });
    // a repeated test must fail again
    if (key !== null && objections.length === 0) known.add(key);
    return objections;
  });
}

function judgeOf({ alone, application }: RecordedResponse): DocumentChecker {
  let judge = judges.get(application);
  if (!judge) {
    judge = new DocumentChecker(openApiDocument(application, { title: 'tested', version: '1.0.0' }, { ownServer: alone }));
    judges.set(application, judge);
    judged.set(judge, new Set());
  }
  return judge;
}

/** Tests repeat many requests: equal responses are checked only once. Null stands for a response that is always checked. */
function keyOf(path: string, { headers, method, url, sent, status, text }: RecordedResponse): string | null {
  if (text === null) return null;
  const names = Object.keys(headers).sort().join();
  const request = status === 400 ? JSON.stringify([url, sent]) : url.includes('fields=');
  return `${method} ${path} ${status} ${names} ${request} ${text.length > 10_000 ? hash('sha1', text) : text}`;
}
