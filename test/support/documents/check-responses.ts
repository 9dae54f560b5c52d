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
    return isNew(judge, described, answer) ? judge.objections(described, { ...answer, query: query.join('?') }) : [];
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

/** Tests repeat many requests: equal responses are checked only once. */
function isNew(judge: DocumentChecker, path: string, { headers, method, url, sent, status, text }: RecordedResponse): boolean {
  if (text === null) return true;
  const known = judged.get(judge) as Set<string>;
  const names = Object.keys(headers).sort().join();
  const request = status === 400 ? JSON.stringify([url, sent]) : url.includes('fields=');
  const key = `${method} ${path} ${status} ${names} ${request} ${text.length > 10_000 ? hash('sha1', text) : text}`;
  if (known.has(key)) return false;
  known.add(key);
  return true;
}
