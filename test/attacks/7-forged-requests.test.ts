import { generateKeyPairSync } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect } from 'vitest';
import { databases } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { forge, hmac, rsa } from './support/forge.ts';
import { useTarget } from './support/target.ts';
import { ann, vault } from './support/vault.ts';

const claims = { sub: 'ann', roles: ['ROLE_USER'], exp: Math.floor(Date.now() / 1000) + 3600 };
const secret = 'a secret of the vault that is long enough';

describe.each(databases)('API7:2023 server side request forgery, on %s', (kind) => {
  const target = useTarget(kind, vault);
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  let bait: Server;
  let address: string;
  let calls: string[] = [];

  beforeAll(async () => {
    bait = createServer((request, response) => {
      calls.push(String(request.url));
      response.end(JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'evil', alg: 'RS256' }] }));
    });
    await new Promise<void>((resolve) => bait.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(bait.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    bait.close();
  });
  beforeEach(() => {
    calls = [];
  });

  test.each(['jku', 'x5u', 'jwks_uri', 'iss', 'kid'])(
    'an address in the token header %s is not fetched (RFC 8725, 3.10; CVE-2018-0114)',
    async (name) => {
      const header = { alg: 'RS256', kid: 'evil', [name]: `${address}/keys` };
      for (const token of [
        forge(header, claims, rsa(privateKey)),
        forge({ ...header, alg: 'HS256' }, claims, hmac(secret.slice(1))),
      ])
        expect((await target.send('GET', '/page.json', { token })).status).toBe(401);
      expect(calls).toEqual([]);
    },
  );

  test('an address in the token claims is not fetched', async () => {
    const token = forge({ alg: 'HS256' }, { ...claims, iss: address, aud: address, jku: address }, hmac(secret));
    expect((await target.send('GET', '/page.json', { token })).status).toBe(200);
    expect(calls).toEqual([]);
  });

  test('a request target in absolute form is served locally, not forwarded (CWE-441, CWE-918)', async () => {
    const token = await target.app.tokenFor(ann);
    const [answer] = await target.raw(
      `GET ${address}/page/1.json HTTP/1.1\r\nHost: ${address.slice(7)}\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`,
    );
    expect([answer?.status, answer?.json.title]).toEqual([200, 'ann 1']);
    expect(answer?.whole).not.toContain(address);
    expect(calls).toEqual([]);
  });

  test.each(['/page.json?items_per_page=1', '/page/99.json', '/nothing.json'])(
    'no foreign host name appears in the response to %s (CWE-601, CWE-644)',
    async (path) => {
      const token = await target.app.tokenFor(ann);
      const headers = [
        'X-Forwarded-Host',
        'X-Forwarded-Server',
        'X-Host',
        'X-Original-Host',
        'Forwarded',
        'X-Forwarded-Proto',
        'Origin',
        'Referer',
      ];
      const evil = headers
        .map((name) => `${name}: ${name === 'Forwarded' ? 'host=evil.example' : 'http://evil.example'}\r\n`)
        .join('');
      for (const form of [
        path,
        `http://evil.example${path}`,
        `HTTP://evil.example:80${path}`,
        `https://user@evil.example${path}`,
      ]) {
        const [answer] = await target.raw(
          `GET ${form} HTTP/1.1\r\nHost: evil.example\r\n${evil}Authorization: Bearer ${token}\r\nConnection: close\r\n\r\n`,
        );
        // the message names the requested address, not the rewritten one
        const { detail: _, ...rest } = answer?.json ?? {};
        expect(JSON.stringify(rest)).not.toContain('evil.example');
        expect(JSON.stringify(answer?.headers)).not.toContain('evil.example');
      }
      const named = headers.map((name) => `${name}: ${name === 'Forwarded' ? `host=${address.slice(7)}` : address}\r\n`).join('');
      await target.raw(`GET ${path} HTTP/1.1\r\nHost: x\r\n${named}Authorization: Bearer ${token}\r\nConnection: close\r\n\r\n`);
      expect(calls).toEqual([]);
    },
  );

  test('Location of a new row is a local path, whatever the host (fastify-static CVE-2021-22964)', async () => {
    const token = await target.app.tokenFor(ann);
    for (const form of ['/page.json', 'http://evil.example/page.json']) {
      const [answer] = await target.raw(
        `POST ${form} HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 13\r\nConnection: close\r\n\r\n{"title":"x"}`,
      );
      expect(answer?.headers.location).toMatch(/^\/page\/\d+\.json$/);
    }
  });

  test('an address in a body is not fetched', async () => {
    const json = { title: `${address}/x`, data: { $ref: `${address}/schema`, href: address, url: 'ftp://127.0.0.1/x' } };
    expect((await target.send('PATCH', '/page/1.json', { as: ann, json })).status).toBe(200);
    expect((await target.send('PATCH', '/page/1.json', { as: ann, json: { title: 'ann 1', data: null } })).status).toBe(200);
    expect(calls).toEqual([]);
  });
});
