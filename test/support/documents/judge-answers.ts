import { hash } from 'node:crypto';
import type { Application } from '../../../src/application.ts';
import { openApiDocument } from '../../../src/openapi/document.ts';
import { findMatch } from '../../../src/route/match.ts';
import { DocumentJudge, type Exchange } from './document-judge.ts';

/** An answer of an application, to be judged. */
export interface WatchedAnswer extends Omit<Exchange, 'query'> {
  readonly application: Application;
  /** Whether the server is ours. */
  readonly alone: boolean;
  /** Without what the application is mounted under. */
  readonly path: string;
  readonly url: string;
}

const judges = new WeakMap<Application, DocumentJudge>();
const judged = new WeakMap<DocumentJudge, Set<string>>();

/** What is wrong with answers by the documents of their applications. */
export function judgeAnswers(answers: readonly WatchedAnswer[]): string[] {
  return answers.flatMap((answer) => {
    const [path = '', ...query] = answer.path.split('?');
    const match = findMatch(answer.application.records, answer.method, path);
    if (!match) return [];
    const judge = judgeOf(answer);
    const described = match.record.path.replace('{_format}', match.format);
    return isNew(judge, described, answer) ? judge.objections(described, { ...answer, query: query.join('?') }) : [];
  });
}

function judgeOf({ alone, application }: WatchedAnswer): DocumentJudge {
  let judge = judges.get(application);
  if (!judge) {
    judge = new DocumentJudge(openApiDocument(application, { title: 'tested', version: '1.0.0' }, { ownServer: alone }));
    judges.set(application, judge);
    judged.set(judge, new Set());
  }
  return judge;
}

/** Tests ask for the same over and over. */
function isNew(judge: DocumentJudge, path: string, { headers, method, url, sent, status, text }: WatchedAnswer): boolean {
  if (text === null) return true;
  const known = judged.get(judge) as Set<string>;
  const names = Object.keys(headers).sort().join();
  const asked = status === 400 ? JSON.stringify([url, sent]) : url.includes('fields=');
  const key = `${method} ${path} ${status} ${names} ${asked} ${text.length > 10_000 ? hash('sha1', text) : text}`;
  if (known.has(key)) return false;
  known.add(key);
  return true;
}
