// @module-tag divided
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openApiDocument } from '../../../src/openapi/document.ts';
import { databases, type FreshDatabase, freshDatabase } from '../../support/databases.ts';
import { takeObjections } from '../../support/documents/watch-responses.ts';
import { startApplication, type TestApplication } from '../../support/testing.ts';
import { type FuzzAnswer, type FuzzRequest, Requests } from './requests.ts';

const directory = join(import.meta.dirname, '../../../examples/courses');
const count = Number(process.env.FUZZ_COUNT ?? 200);
const seed = Number(process.env.FUZZ_SEED ?? 1);

/** Rules that a body can break although its schema allows it: they depend on what there is, or are the model's own. */
const unforeseeable = new Set([
  'reference_not_found',
  'invalid_reference',
  'identity_mismatch',
  'offset_too_large',
  'bad_request',
]);
const formalViolations = new Set(['required', 'type', 'too_long', 'enum', 'range', 'json', 'too_many']);

describe.each(databases)('requests generated from the document of the example on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;

  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication({ directory, databaseUrl: database.url });
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  test(`get responses as described: ${count} with the seed ${seed}`, { timeout: 300_000 + count * 1000 }, async () => {
    const document = openApiDocument(app.application, { title: 'courses', version: '1.0.0' });
    const bearer = async (id: number, roles: string[], centers: number[]) =>
      `Bearer ${await app.tokenFor({ id, roles, centers })}`;
    const requests = new Requests(document, {
      authorization: await bearer(3, ['ROLE_ADMIN'], [1, 2, 3]),
      user: await bearer(1, ['ROLE_USER'], [1]),
      nobody: await bearer(9, [], []),
      forged: 'Bearer e30.e30.x',
    });
    const statuses = new Map<number, number>();
    const wrong: string[] = [];
    let sent = 0;
    let accepted = 0;
    let allowed = 0;
    for (let i = 0; i < count && wrong.length < 20; i++) {
      const [request] = fc.sample(requests.arbitrary, { seed: seed * 1_000_003 + i, numRuns: 1 }) as [FuzzRequest];
      const answer = await send(app.url, request);
      const { status, text } = answer;
      sent++;
      requests.learn(request, answer);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (request.allowed) allowed++;
      if (request.allowed && status < 300) accepted++;
      const trouble =
        status >= 500 ? 'failed' : request.allowed && isRefusedForForm(request, status, text) ? 'refused what is allowed' : null;
      const told = [...(trouble ? [trouble] : []), ...(i % 100 === 99 || trouble ? await takeObjections() : [])];
      wrong.push(...told.map((what) => `#${i} ${what}: ${shown(request)} → ${status} ${text.slice(0, 500)}`));
    }
    wrong.push(...(await takeObjections()));
    const figures = [...statuses].sort(([a], [b]) => a - b).map(([status, times]) => `${status}: ${times}`);
    if (count > 200)
      console.log(
        `${kind}, seed ${seed}: ${sent} requests to ${requests.size} operations, ${allowed} allowed, ${accepted} of them done; ${figures.join(', ')}`,
      );
    expect(wrong).toEqual([]);
    // so that it is not all refusals
    expect(accepted).toBeGreaterThan(count / 8);
  });
});

function shown({ method, target, body = '', headers: { authorization: _, ...headers } }: FuzzRequest): string {
  return `${method} ${target} ${JSON.stringify(headers)} ${body.slice(0, 1000)}`;
}

async function send(url: string, { method, target, headers, body }: FuzzRequest): Promise<FuzzAnswer> {
  const response = await fetch(url + target, {
    method,
    headers,
    ...(body !== undefined && method !== 'GET' && method !== 'HEAD' && { body }),
  });
  return { status: response.status, text: await response.text(), tag: response.headers.get('etag') };
}

function isRefusedForForm({ method, ofSeveral }: FuzzRequest, status: number, text: string): boolean {
  if (status === 405 || status === 413 || status === 415 || status === 401) return true;
  if (status !== 400 && status !== 422) return false;
  const { code, violations = [] } = text === '' ? {} : JSON.parse(text);
  // a change may have fields of any of the classes, and the row is of one of them
  if (ofSeveral && code === 'unknown_field') return false;
  if (status === 400) return code !== undefined && !unforeseeable.has(code);
  // a change of an embedded object makes one where there is none, which then lacks what was not sent
  const isForeseeable = ({ code: broken, propertyPath }: { code: string; propertyPath: string }) =>
    formalViolations.has(broken) && !(method === 'PATCH' && broken === 'required' && propertyPath.includes('.'));
  return violations.some(isForeseeable);
}
