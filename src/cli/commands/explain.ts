import { isUser } from '../../access/authenticator.ts';
import type { User } from '../../access/user.ts';
import type { Explainer } from '../../inspect/explainer.ts';
import { parsedJson } from '../../inspect/json.ts';
import { type Command, type Given, isGiven, optionValue } from '../command.ts';
import { ApplicationFailure, CallFailure, messageOf } from '../failure.ts';
import { type Io, outputStyleOf, say } from '../io.ts';
import { applicationDirectory } from '../open-application.ts';
import { requestArguments, requestPositionals } from '../request-arguments.ts';
import { explanationLines } from '../text/explanation-text.ts';

export default {
  details: [
    'Runs the request with the code that serves it, on a database connection that refuses changes. Reads run completely. A write stops before it changes anything. Your own handlers of writing methods do not run.',
    'If the SQLite database does not exist yet, a fresh in-memory database with the schema and the seed is used.',
  ],
  positionals: requestPositionals,
  options: {
    as: { value: 'TOKEN', doc: 'Send this token, or this API key if the application has API keys. It is never printed.' },
    user: { value: 'JSON', doc: 'Run as this user, without a credential: \'{"id": 1, "roles": ["ROLE_USER"]}\'.' },
    header: { value: 'NAME:VALUE', doc: 'Send another header. Repeatable.', repeatable: true },
    body: { value: 'JSON', doc: 'Send this body. It is read and validated; nothing is written.' },
    json: { doc: 'Print the explanation as JSON.' },
  },
  exitCodes: {
    0: 'the request would succeed',
    1: 'the request would be rejected, or error in the application',
    2: 'wrong command line',
  },
  example: 'declarest explain GET /api/person/1.json my-application --as "$TOKEN"',

  async run(given, io) {
    const { method, path } = requestArguments(given);
    const request = {
      method,
      path: sendable(path),
      user: userOf(given),
      credential: credentialOf(given),
      headers: headersOf(given),
      body: optionValue(given, 'body'),
    };
    const explainer = await open(given, io);
    try {
      const explanation = await explainer.explain(request);
      if (isGiven(given, 'json')) say(io.stdout, JSON.stringify(explanation, null, 2));
      else for (const line of explanationLines(explanation, outputStyleOf(io.stdout, io.env))) say(io.stdout, line);
      return explanation.outcome === 'answered' || explanation.outcome === 'stopped' ? 0 : 1;
    } finally {
      await explainer.close();
    }
  },
} satisfies Command;

async function open({ positionals }: Given, io: Io): Promise<Explainer> {
  const directory = applicationDirectory(positionals.dir, io);
  const { openExplainer } = await import('../../inspect/explainer.ts');
  const { DeclarationErrors } = await import('../../declaration/report.ts');
  try {
    return await openExplainer({ directory, env: io.env });
  } catch (error) {
    if (error instanceof DeclarationErrors) throw error;
    throw new ApplicationFailure(`cannot explain: ${messageOf(error)}`, error);
  }
}

/** Percent-encodes the characters that a request line must not contain, as HTTP clients do. */
function sendable(path: string): string {
  try {
    return path.replace(/[^\x21-\x7e]+/g, encodeURIComponent).replace(/#.*$/s, '');
  } catch {
    throw new CallFailure(`the path ${JSON.stringify(path)} is not valid in a URL`);
  }
}

function credentialOf(given: Given): string | undefined {
  const token = optionValue(given, 'as');
  if (token === undefined) return undefined;
  if (isGiven(given, 'user')) throw new CallFailure('--as and --user exclude each other; use one of them');
  if (!/^[\x21-\x7e]+$/.test(token)) throw new CallFailure('--as must be a token or an API key, without spaces');
  return token;
}

function userOf(given: Given): User | undefined {
  const text = optionValue(given, 'user');
  if (text === undefined) return undefined;
  const written = parsedJson(text);
  // roles are optional
  const user: unknown = typeof written === 'object' && written !== null ? { roles: [], ...written } : null;
  if (isUser(user)) return user;
  throw new CallFailure('--user must be a JSON object with an id and a list of roles: \'{"id": 1, "roles": ["ROLE_USER"]}\'');
}

function headersOf({ options }: Given): Record<string, string> {
  const headers = (options.header ?? []).map((text) => {
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):\s*([\x20-\x7e]*)$/.exec(text) ?? [];
    if (name === undefined || value === undefined) throw new CallFailure("--header must be NAME:VALUE, as in 'X-Session: abc'");
    return [name.toLowerCase(), value] as const;
  });
  return Object.fromEntries(headers);
}
