import { request } from 'node:http';
import { expect, test } from 'vitest';
import { personYaml, smallApplication } from '../cli/applications.ts';
import { addressOf, start } from '../cli/spawned.ts';

/** Sends a request with any `Host`, which `fetch` does not allow. */
function statusOf(url: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    request(url, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}

test('declarest serve explains a request to pages of its own, on the same machine', async () => {
  const server = start(['serve', smallApplication({ 'config/app_main.yaml': personYaml }), '--port', '0'], {
    env: { NODE_ENV: 'development' },
    fromSource: true,
  });
  try {
    const url = await addressOf(server);
    const place = `${url}/explorer/~explain?method=GET&path=${encodeURIComponent('/api/person.json?items_per_page=1')}`;
    const explained = await fetch(place, { headers: { authorization: 'Bearer wrong' } });
    expect(explained.status).toBe(200);
    expect(explained.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(explained.headers.get('cache-control')).toBe('no-store');
    const text = await explained.text();
    expect(text).toMatch(/^GET \/api\/person\.json\?items_per_page=1 {2}401 /);
    expect(text).not.toContain('Bearer wrong');
    expect(await (await fetch(place)).text()).toMatch(/^GET \/api\/person\.json\?items_per_page=1 {2}200/);

    const refused: Record<string, string>[] = [
      { host: 'evil.example' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'x-forwarded-for': '127.0.0.1' },
      { forwarded: 'for=127.0.0.1' },
    ];
    for (const headers of refused) expect([headers, await statusOf(place, headers)]).toEqual([headers, 404]);
    for (const query of ['', '?method=GET', '?method=get&path=/x', '?method=GET&path=x', '?method=GET&path=/a%0d%0ab'])
      expect([query, await statusOf(`${url}/explorer/~explain${query}`, {})]).toEqual([query, 404]);
    // the page about a problem links to it
    const page = await (await fetch(`${url}/api/person/99.json`, { headers: { accept: 'text/html' } })).text();
    expect(page).toContain('href="/explorer/~explain?method=GET&amp;path=%2Fapi%2Fperson%2F99.json"');
  } finally {
    server.child.kill('SIGTERM');
    await server.ended;
  }
});
