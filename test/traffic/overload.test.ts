import { describe, expect, test } from 'vitest';
import { gateOf } from '../../src/traffic/gate.ts';
import { databases } from '../support/databases.ts';
import { closeGate, gate, rawConnection, thingOptions, until, withThings } from './things.ts';

describe.each(databases)('more concurrent requests than capacity on %s', (database) => {
  test('are rejected immediately, while health checks and the other requests succeed', async () => {
    await withThings(database, thingOptions({ max_concurrent: 2 }), async ({ request, app }) => {
      const open = closeGate();
      const accepted = [request('GET', '/slow/work.json'), request('GET', '/slow/work.json')];
      await until(() => gate.asked === 2);
      for (const [method, path, body] of [
        ['GET', '/thing/1.json', undefined],
        ['POST', '/thing.json', 'no JSON'],
        ['POST', '/thing.json', 'x'.repeat(200_000)],
      ] as const) {
        const shed = await request(method, path, body === undefined ? {} : { body });
        expect([shed.status, shed.json.code, shed.headers.get('retry-after')]).toEqual([503, 'overloaded', '1']);
      }
      expect((await request('GET', '/health/live')).status).toBe(200);
      expect((await request('GET', '/health/ready')).status).toBe(200);
      open();
      expect((await Promise.all(accepted)).map(({ status }) => status)).toEqual([200, 200]);
      expect((await request('GET', '/thing/1.json')).status).toBe(200);
      expect(app.server.listening).toBe(true);
    });
  });

  test('do not include requests that wait for bodies, up to the same number again', async () => {
    await withThings(database, thingOptions({ max_concurrent: 2 }), async ({ app, request, url }) => {
      const head = 'POST /thing.json HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{"na';
      const slow = await Promise.all([rawConnection(url), rawConnection(url)]);
      for (const { socket } of slow) socket.write(head);
      await until(() => gateOf(app)?.inFlight === 2);
      await until(async () => (await request('GET', '/thing/1.json')).status === 200);
      const open = closeGate();
      const accepted = [request('GET', '/slow/work.json'), request('GET', '/slow/work.json')];
      await until(() => gate.asked === 2);
      expect((await request('GET', '/thing/1.json')).json.code).toBe('overloaded');
      open();
      expect((await Promise.all(accepted)).map(({ status }) => status)).toEqual([200, 200]);
      for (const { socket } of slow) socket.write('me": "at last"}\n'.padEnd(16));
      for (const { received } of slow) await until(() => /^HTTP\/1\.1 201 /.test(received()));
      for (const { socket } of slow) socket.destroy();
    });
  });
});
