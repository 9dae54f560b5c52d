import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { delimiter, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { makeTemporary } from '../../support/temporary.ts';

/** A response that came through a cache. */
export interface Cached {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** A caching proxy in front of a server. */
export interface SharedCache {
  send(method: string, path: string, headers?: Readonly<Record<string, string>>, body?: string): Promise<Cached>;
  close(): Promise<void>;
}

/**
 * Starts nginx in front of a server, as a shared cache that stores every response it may: of any status, also to POST, for ten
 * minutes where the response does not say, and for all callers alike. `X-Cache` says whether a response was stored.
 */
export async function startSharedCache(origin: string): Promise<SharedCache> {
  const { directory, remove } = makeTemporary('nginx');
  const socketPath = join(directory, 'socket');
  const config = join(directory, 'nginx.conf');
  const log = join(directory, 'error.log');
  writeFileSync(config, configOf(directory, socketPath, new URL(origin).host));
  // Debian has it where only the administrator's path leads
  const env = { ...process.env, PATH: `${process.env.PATH}${delimiter}/usr/sbin` };
  const proxy = spawn('nginx', ['-c', config, '-p', directory, '-e', log], { env, stdio: 'ignore' });
  const ended = Promise.race([once(proxy, 'exit'), once(proxy, 'error')]);
  const close = async () => {
    proxy.kill('SIGTERM');
    await ended.catch(() => undefined);
    remove();
  };
  for (let attempt = 0; !existsSync(socketPath); attempt++) {
    if (attempt < 500 && proxy.exitCode === null && proxy.pid !== undefined) {
      await wait(20);
      continue;
    }
    const reason = existsSync(log) ? readFileSync(log, 'utf8') : 'is it installed? On Debian: apt-get install nginx';
    await close();
    throw new Error(`nginx did not start: ${reason}`);
  }
  return { send: (method, path, headers, body) => send(socketPath, { method, path, headers, body }), close };
}

function configOf(directory: string, socketPath: string, origin: string): string {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const places = kinds.map((kind) => `${kind}_temp_path ${directory}/${kind};`);
  return `daemon off;
master_process off;
pid ${directory}/pid;
events {}
http {
  access_log off;
  ${places.join('\n  ')}
  proxy_cache_path ${directory}/cache keys_zone=shared:1m;
  server {
    listen unix:${socketPath};
    location / {
      proxy_pass http://${origin};
      proxy_http_version 1.1;
      proxy_cache shared;
      proxy_cache_key "$request_method $request_uri";
      proxy_cache_methods GET HEAD POST;
      proxy_cache_convert_head off;
      proxy_cache_valid any 10m;
      add_header X-Cache $upstream_cache_status always;
    }
  }
}
`;
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | undefined;
}

function send(socketPath: string, { body, headers = {}, method, path }: Sent): Promise<Cached> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const all = { host: 'api.example', ...length, ...headers };
    const options = { socketPath, method, path, agent: false, headers: all, signal: AbortSignal.timeout(10_000) };
    const request = httpRequest(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(chunks).toString() });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}
